import {
  backupRoute,
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
} from '@baton-lock/protocol'
import { requestSchemas } from '@baton-lock/protocol/schemas'
import { z } from 'zod'
import { classicDescriptions } from '../classic/openapi.ts'
import type { Answer } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { eventsQuery } from './events.ts'

type Json = Record<string, unknown>

/** GET /openapi.json, made from the schemas that check the input. It is made when it is first asked for. */
export function openApiRoutes(version: string): HttpRoute[] {
  let data: Buffer | undefined
  const handle = (): Answer => {
    data ??= Buffer.from(JSON.stringify(openApi(version)))
    return { status: 200, content: { type: 'application/json; charset=utf-8', data } }
  }
  return [{ method: 'GET', path: '/openapi.json', handle }]
}

function openApi(version: string): Json {
  const paths: Record<string, Json> = {}
  for (const [type, route] of Object.entries(routes) as [RequestType, Route][]) {
    const schema = inputSchema(type)
    add(paths, route, { operationId: type, ...(route.method === 'GET' ? query(schema) : body(schema)) })
  }
  add(paths, batchRoute, { operationId: 'batch', ...body(batchSchema()) })
  add(paths, eventsRoute, { operationId: 'events', ...eventsInput() })
  add(paths, backupRoute, { operationId: 'backup' })
  paths[streamRoute.path] = { get: { summary: streamRoute.summary, operationId: 'stream', responses: UPGRADED } }
  return {
    openapi: '3.1.0',
    info: { title: 'Baton', version, description: 'An outcome-aware distributed lock.' },
    security: [{}, { token: [] }],
    paths: { ...paths, ...classicDescriptions() },
    components: {
      schemas: { Error: errorSchema() },
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

/** Of routes that do not answer in JSON. */
const answers: Readonly<Record<string, Json>> = {
  [eventsRoute.path]: { description: 'events, each with id, event and data', content: { 'text/event-stream': {} } },
  [backupRoute.path]: { description: 'for `baton store restore`', content: { 'application/octet-stream': {} } },
}

function add(paths: Record<string, Json>, { method, path, summary }: Route, operation: Json): void {
  const ok = answers[path] ?? {
    description: 'the reply; `status` says which',
    content: { 'application/json': { schema: { type: 'object' } } },
  }
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
function inputSchema(type: RequestType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(requestSchemas[type], { io: 'input' }) as Json
  return withoutType(schema)
}

function withoutType(schema: Json): Json {
  const either = schema.oneOf ?? schema.anyOf
  if (Array.isArray(either)) return { oneOf: either.map(withoutType) }
  const { type: _, ...properties } = schema.properties as Json
  const required = ((schema.required as string[] | undefined) ?? []).filter((name) => name !== 'type')
  return { ...schema, properties, ...(schema.required !== undefined && { required }) }
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
