import type { ServerOptions as TlsOptions } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { STORE_HEADER } from '../protocol/index.ts'
import { type Log, noLog, type Service, systemTimers, type Timers } from '../service/index.ts'
import { parseBodiesAsJson } from './body.ts'
import { serveClassic } from './classic/index.ts'
import { newFastify } from './connections.ts'
import { serveEvents } from './events.ts'
import { answerFailures, checkQueryEncoding } from './failures.ts'
import { type Asker, newGuard } from './guard.ts'
import { serveHealth } from './health.ts'
import { defaultLimits, type ServerLimits } from './limits.ts'
import { serveOpenApi } from './openapi.ts'
import { Posts } from './posts.ts'
import { Streams } from './streams.ts'
import type { Token } from './tokens.ts'
import { serveBatch, serveRequests } from './v1.ts'
import { serveWebSocket } from './web-socket/serve.ts'

/** What a server is made of; all but the service has a default. */
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
  const guard = newGuard(tokens)
  const posts = new Posts({ guard, log, storeId: service.storeId, maxBytes: limits.bodyBytes })
  const app = newFastify({ limits, https: options.https, log, posts })
  const streams = new Streams({ limits, timers, log })
  app.decorate('streams', streams)
  app.decorateRequest('asker', undefined)

  app.addHook('onRequest', async (request, reply) => {
    // On the response itself, so that the head of a stream carries it too.
    if (request.url.startsWith('/v1/')) reply.raw.setHeader(STORE_HEADER, service.storeId)
  })
  app.addHook('onRequest', async (request) => checkQueryEncoding(request))
  app.addHook('onRequest', async (request) => {
    if (!request.is404 && !request.routeOptions.config.public)
      request.asker = guard.identify(request.headers.authorization)
  })
  parseBodiesAsJson(app)
  answerFailures(app, log)
  serveRequests(app, { service, guard, log, posts })
  serveBatch(app, { service, guard, log, posts })
  serveEvents(app, { service, streams, guard })
  serveWebSocket(app, { service, streams, guard, limits, timers, log })
  serveClassic(app, { service, streams, guard, posts, log, timers })
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
  interface FastifyRequest {
    /** Who asks; known where a route is not public. */
    asker: Asker
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    readonly public?: boolean
  }
}
