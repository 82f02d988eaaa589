import type { Server as HttpServer } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type ErrorBody, errorBody, errors } from '../protocol/index.ts'
import { type Service, systemTimers, type Timers } from '../service/index.ts'
import { parseBodiesAsJson } from './body.ts'
import { serveClassic } from './classic/index.ts'
import { serveEvents } from './events.ts'
import { newGuard } from './guard.ts'
import { serveHealth } from './health.ts'
import { defaultLimits, type ServerLimits } from './limits.ts'
import { type Log, noLog } from './log.ts'
import { serveOpenApi } from './openapi.ts'
import { bodyOf, Refusal } from './refusal.ts'
import { Streams } from './streams.ts'
import type { Token } from './tokens.ts'
import { serveBatch, serveRequests } from './v1.ts'

export interface AppOptions {
  readonly service: Service
  /** Who may ask what. Default: everybody everything. */
  readonly tokens?: readonly Token[]
  readonly limits?: Partial<ServerLimits>
  /** Default: says nothing. */
  readonly log?: Log
  /** Key and certificate, and with `ca` and `requestCert` those of the clients too. Default: no TLS. */
  readonly https?: TlsOptions
  /** Of Baton, for /openapi.json. */
  readonly version?: string
  readonly timers?: Timers
}

/** Builds the server over a service; listening is the caller's business. */
export function buildApp({
  service,
  tokens,
  log = noLog,
  timers = systemTimers,
  ...options
}: AppOptions): FastifyInstance {
  const limits = { ...defaultLimits, ...options.limits }
  const app = newFastify({ limits, https: options.https, log })
  const streams = new Streams({ limits, timers, log })
  const guard = newGuard(tokens, service)
  app.decorate('streams', streams)

  app.addHook('onRequest', async (request) => checkQueryEncoding(request))
  app.addHook('onRequest', async (request) => {
    if (!request.is404 && !request.routeOptions.config.public) guard.identify(request)
  })
  parseBodiesAsJson(app)
  answerFailures(app, log)
  serveRequests(app, { service, guard, log })
  serveBatch(app, { service, guard, log })
  serveEvents(app, { service, streams, guard })
  serveClassic(app, { service, streams, guard, log, timers })
  serveHealth(app, service)
  serveOpenApi(app, options.version ?? '0.0.0')
  app.addHook('preClose', async () => streams.close())
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    /** How many streams are open, and how many slow readers were cut. */
    readonly streams: { readonly size: number; readonly cut: number }
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    readonly public?: boolean
  }
}

interface Listening {
  readonly limits: ServerLimits
  readonly https: TlsOptions | undefined
  readonly log: Log
}

function newFastify({ limits, https, log }: Listening): FastifyInstance {
  const connections = {
    // A half-open connection is closed once its request is overdue; looked for this often.
    headersTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.max(100, limits.requestMs / 10),
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  }
  const app = Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    exposeHeadRoutes: false,
    frameworkErrors: (error, _request, reply) => refuse(reply, bodyOf(error, log)),
    ...(https ? { https: { ...connections, ...https } } : { http: connections }),
  }) as FastifyInstance<HttpServer>
  app.server.headersTimeout = limits.requestMs
  return app
}

function answerFailures(app: FastifyInstance, log: Log): void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    methods.set(url, known)
    for (const one of [method].flat()) known.add(one)
  })
  const notFound = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = methods.get(request.url.split('?')[0] ?? '')
    if (!allowed) return refuse(reply, errorBody('not-found'))
    return refuse(reply.header('allow', [...allowed].join(', ')), errorBody('method-not-allowed'))
  }
  app.setNotFoundHandler(notFound)
  app.setErrorHandler((error, request, reply) => {
    const body = bodyOf(error, log)
    return request.is404 && body.code === 'bad-request' ? notFound(request, reply) : refuse(reply, body)
  })
}

function refuse(reply: FastifyReply, body: ErrorBody): FastifyReply {
  if (body.code === 'unauthorised') reply.header('www-authenticate', 'Bearer')
  return reply.code(errors[body.code].status).send(body)
}

/** The router leaves a query that is not well encoded as it is; it would pass for an id with percent signs. */
function checkQueryEncoding({ raw }: FastifyRequest): void {
  const query = raw.url?.split('?', 2)[1]
  if (query === undefined) return
  try {
    decodeURIComponent(query)
  } catch {
    throw new Refusal('bad-request', 'The query is not well encoded; write a percent sign as %25.')
  }
}
