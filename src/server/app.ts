import type { ServerOptions as TlsOptions } from 'node:https'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { STORE_HEADER, type Token } from '../protocol/index.ts'
import { type Log, noLog, type Service, systemTimers, type Timers } from '../service/index.ts'
import { Accounts } from './accounts.ts'
import { parseBodiesAsJson } from './body.ts'
import { serveClassic } from './classic/index.ts'
import { newFastify } from './connections.ts'
import { keepDescriptors } from './descriptors.ts'
import { type Drained, Draining } from './draining.ts'
import { serveEvents } from './events.ts'
import { answerFailures, checkQueryEncoding } from './failures.ts'
import { FairQueue } from './fair-queue.ts'
import { type Asker, newGuard } from './guard.ts'
import { serveHealth } from './health.ts'
import { defaultLimits, type ServerLimits } from './limits.ts'
import { serveOpenApi } from './openapi.ts'
import { Posts } from './posts.ts'
import { Reading } from './reading.ts'
import { RequestLog } from './request-log.ts'
import { REQUEST_ID_HEADER } from './request-names.ts'
import { Streams } from './streams.ts'
import { Unsent } from './unsent.ts'
import { serveBatch, serveRequests } from './v1.ts'
import { serveWebSocket } from './web-socket/serve.ts'
import { WrongTokens } from './wrong-tokens.ts'

/** What a server is made of; all but the service has a default. */
export interface AppOptions {
  readonly service: Service
  /** Who may ask what; at least one. Default: everybody everything. */
  readonly tokens?: readonly Token[]
  /** Names by which a server without tokens is called, beside IP addresses and `localhost`. Default: none. */
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<ServerLimits>
  /** Default: says nothing. */
  readonly log?: Log
  /** Key and certificate, and with `ca` and `requestCert` those of the clients too. Default: no TLS. */
  readonly https?: TlsOptions
  /** Of Baton, for /openapi.json. */
  readonly version?: string
  readonly timers?: Timers
  /** Of the clock of the store: while it catches up, all that has arrived is answered before anything runs out. */
  readonly onCatchUp?: ((listener: (isCatchingUp: boolean) => void) => void) | undefined
}

/** Builds the server over a service; listening is the caller's business. */
export function buildApp({
  service,
  tokens,
  allowedHosts,
  log = noLog,
  timers = systemTimers,
  ...options
}: AppOptions): FastifyInstance {
  const limits = { ...defaultLimits, ...options.limits }
  const guard = newGuard({ tokens, allowedHosts })
  const queue = new FairQueue()
  options.onCatchUp?.((isCatchingUp) => {
    queue.isUrgent = isCatchingUp
  })
  const accounts = new Accounts(guard)
  const requestLog = new RequestLog(log, service.instance)
  const posts = new Posts({ guard, requestLog, storeId: service.storeId, maxBytes: limits.bodyBytes, queue, accounts })
  const unsent = new Unsent({ limits, timers, log })
  const isDraining = (): boolean => draining.hasBegun
  const app = newFastify({ limits, https: options.https, requestLog, posts, unsent, queue, accounts, isDraining })
  keepDescriptors(app.server, { log, timers })
  const wrongTokens = new WrongTokens({ timers, log })
  const identified = async ({ headers, method, raw }: FastifyRequest): Promise<Asker> => {
    try {
      return guard.identify(headers, { isGet: method === 'GET' })
    } catch (error) {
      await wrongTokens.slow(error, raw.socket, () => requestLog.of(raw))
      throw error
    }
  }
  const streams = new Streams({ limits, timers, unsent })
  const draining = new Draining({ server: app.server, streams, timers })
  app.decorate('drain', (limitMs: number) => draining.drain(limitMs))
  app.decorate('streams', streams)
  app.decorate('unsent', unsent)
  app.decorateRequest('asker')

  app.addHook('onRequest', async (request, reply) => {
    // On the response itself, so that the head of a stream carries them too.
    reply.raw.setHeader(REQUEST_ID_HEADER, request.id)
    if (request.url.startsWith('/v1/')) reply.raw.setHeader(STORE_HEADER, service.storeId)
  })
  app.addHook('onRequest', async (request) => {
    if (request.is404 || request.routeOptions.config.public) guard.admit(request.headers)
    else request.asker = await identified(request)
  })
  app.addHook('onRequest', async (request) => checkQueryEncoding(request))
  parseBodiesAsJson(app, (request, work) => queue.run(accounts.ofRequest(request), work))
  answerFailures(app, requestLog)
  const reading = new Reading(service, limits.replyBytes)
  serveRequests(app, { service, guard, requestLog, posts, reading })
  serveBatch(app, { service, guard, requestLog, posts, reading })
  serveEvents(app, { service, streams, guard })
  serveWebSocket(app, { service, streams, guard, wrongTokens, limits, timers, requestLog, unsent, queue, accounts })
  serveClassic(app, { service, streams, guard, posts, requestLog, timers })
  serveHealth(app, service, draining)
  serveOpenApi(app, options.version ?? '0.0.0')
  app.addHook('preClose', async () => {
    streams.close()
    unsent.close()
  })
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Takes no more connections, has streams go elsewhere, and resolves when all that was asked is answered and everybody has
     * gone; those who have not after so long are cut. To be followed by `close`.
     */
    drain(limitMs: number): Promise<Drained>
    /** How many streams are open, and how many slow readers were cut. */
    readonly streams: { readonly size: number; readonly cut: number }
    /** How many bytes are held because somebody has not read them yet. */
    readonly unsent: { readonly bytes: number }
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
