import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  batchRoute,
  errors,
  eventsRoute,
  LIMITS,
  type RequestType,
  type Route,
  routes,
  SESSION_HEADER,
  STORE_HEADER,
  streamRoute,
} from '../protocol/index.ts'
import { requestSchemas } from '../protocol/schemas.ts'
import { classicPaths } from './classic/openapi.ts'
import { eventsQuery } from './events.ts'

type Json = Record<string, unknown>

/** /openapi.json, made of the schemas that check the input. Made once, when first asked for. */
export function serveOpenApi(app: FastifyInstance, version: string): void {
  let document: Buffer | undefined
  app.get('/openapi.json', async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApi(version)))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

function openApi(version: string): Json {
  const schemas: Json = { Error: errorSchema() }
  const paths: Record<string, Json> = {}
  for (const [type, route] of Object.entries(routes) as [RequestType, Route][]) {
    const schema = inputSchema(type, schemas)
    add(paths, route, { operationId: type, ...(route.method === 'GET' ? query(schema) : body(schema)) })
  }
  add(paths, batchRoute, { operationId: 'batch', ...body(batchSchema()) })
  add(paths, eventsRoute, { operationId: 'events', ...eventsInput() })
  paths[streamRoute.path] = { get: { summary: streamRoute.summary, operationId: 'stream', responses: UPGRADED } }
  return {
    openapi: '3.1.0',
    info: { title: 'Baton', version, description: 'An outcome-aware distributed lock.' },
    security: [{}, { token: [] }],
    paths: { ...paths, ...classicPaths },
    components: {
      schemas,
      responses: {
        Refused: {
          description: 'refused; `code` says why',
          headers: HEADERS,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

/** Of every answer. */
const HEADERS = {
  [STORE_HEADER]: {
    description: 'the id of the store that the server is over: servers with different ones do not know of one another',
    schema: { type: 'string' },
  },
}

/** What comes after it is in docs/protocol.md. */
const UPGRADED = {
  101: { description: 'a WebSocket: frames of JSON text' },
  default: { $ref: '#/components/responses/Refused' },
}

function add(paths: Record<string, Json>, { method, path, summary }: Route, operation: Json): void {
  const isStream = path === eventsRoute.path
  const ok = isStream
    ? { description: 'events, each with id, event and data', content: { 'text/event-stream': {} } }
    : { description: 'the reply; `status` says which', content: { 'application/json': { schema: { type: 'object' } } } }
  paths[path] = {
    ...paths[path],
    [method.toLowerCase()]: {
      summary,
      ...operation,
      responses: { 200: { ...ok, headers: HEADERS }, default: { $ref: '#/components/responses/Refused' } },
    },
  }
}

function errorSchema(): Json {
  return {
    type: 'object',
    required: ['status', 'code', 'message'],
    properties: {
      status: { const: 'refused' },
      code: { enum: Object.keys(errors), description: 'stable; the HTTP status goes with it' },
      message: { type: 'string', description: 'what to change' },
    },
    'x-codes': errors,
  }
}

/** The request as a client writes it, without its `type`: that is the path. */
function inputSchema(type: RequestType, shared: Json): Json {
  const { $schema: _, $defs, ...schema } = z.toJSONSchema(requestSchemas[type], { io: 'input' }) as Json
  const prefix = `${type}.`
  for (const [name, definition] of Object.entries(($defs as Json | undefined) ?? {})) {
    shared[prefix + name] = referred(definition, prefix)
  }
  return referred(withoutType(schema), prefix) as Json
}

function withoutType(schema: Json): Json {
  const either = schema.oneOf ?? schema.anyOf
  if (Array.isArray(either)) return { oneOf: either.map(withoutType) }
  const { type: _, ...properties } = schema.properties as Json
  const required = ((schema.required as string[] | undefined) ?? []).filter((name) => name !== 'type')
  return { ...schema, properties, ...(schema.required !== undefined && { required }) }
}

/** Definitions move to the document's components, and what refers to them follows. */
function referred(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((one) => referred(one, prefix))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) =>
      key === '$ref' && typeof one === 'string'
        ? [key, one.replace('#/$defs/', `#/components/schemas/${prefix}`)]
        : [key, referred(one, prefix)],
    ),
  )
}

function body(schema: Json): Json {
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

function query(schema: Json): Json {
  const required = (schema.required as string[] | undefined) ?? []
  const parameters = Object.entries(schema.properties as Record<string, Json>).map(([name, one]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: one,
  }))
  return { parameters }
}

function batchSchema(): Json {
  const one = { type: 'object', required: ['type'], properties: { type: { enum: Object.keys(requestSchemas) } } }
  return {
    type: 'object',
    required: ['requests'],
    properties: { requests: { type: 'array', minItems: 1, maxItems: LIMITS.batch, items: one } },
  }
}

function eventsInput(): Json {
  const { parameters } = query(z.toJSONSchema(eventsQuery, { io: 'input' }) as Json) as { parameters: Json[] }
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  })
  return {
    parameters: [
      ...parameters,
      header(SESSION_HEADER, 'only what concerns this session'),
      header('last-event-id', 'the last id seen: the stream goes on from there, or says `reset`'),
    ],
  }
}
