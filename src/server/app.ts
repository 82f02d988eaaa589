import type { ServerOptions as TlsOptions } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { STORE_HEADER, type Token } from '../protocol/index.ts'
import { type Log, noLog, type Service, systemTimers, systemWallMs, type Timers } from '../service/index.ts'
import { Accounts } from './accounts.ts'
import { Admission } from './admission.ts'
import { Audit, type AuditSink, auditToLog } from './audit.ts'
import { parseBodiesAsJson } from './body.ts'
import { serveClassic } from './classic/index.ts'
import { newFastify } from './connections.ts'
import { serveDashboard } from './dashboard.ts'
import { keepDescriptors } from './descriptors.ts'
import { type Drained, Draining } from './draining.ts'
import { serveEvents } from './events.ts'
import { answerFailures, checkQueryEncoding } from './failures.ts'
import { FairQueue } from './fair-queue.ts'
import { openGuard } from './guard.ts'
import { guardRoutes } from './guarded-routes.ts'
import { serveHealth } from './health.ts'
import { defaultLimits, type ServerLimits } from './limits.ts'
import { serveMetrics } from './metrics/metrics.ts'
import { serveOpenApi } from './openapi.ts'
import { Posts } from './posts.ts'
import { Reading } from './reading.ts'
import { RequestLog } from './request-log.ts'
import { REQUEST_ID_HEADER } from './request-names.ts'
import { Streams } from './streams.ts'
import { TokenGuard } from './token-guard.ts'
import { TokenStreams } from './token-streams.ts'
import { type TokenChanges, Tokens } from './tokens.ts'
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
  /** Where it is written down what operators do. Default: the log. */
  readonly audit?: AuditSink
  /** Key and certificate, and with `ca` and `requestCert` those of the clients too. Default: no TLS. */
  readonly https?: TlsOptions
  /** Of Baton, for /openapi.json. */
  readonly version?: string
  readonly timers?: Timers
  /** By which tokens expire. Default: the clock of this machine. */
  readonly wallMs?: () => number
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
  wallMs = systemWallMs,
  ...options
}: AppOptions): FastifyInstance {
  const limits = { ...defaultLimits, ...options.limits }
  const known = tokens && new Tokens(tokens)
  const guard = known ? new TokenGuard(known, wallMs) : openGuard(allowedHosts)
  const queue = new FairQueue()
  options.onCatchUp?.((isCatchingUp) => {
    queue.isUrgent = isCatchingUp
  })
  const accounts = new Accounts(guard)
  const requestLog = new RequestLog(log, {
    instance: service.instance,
    onRefused: (code) => service.statistics?.answers.refused(code),
  })
  const posts = new Posts({ guard, requestLog, storeId: service.storeId, maxBytes: limits.bodyBytes, queue, accounts })
  const unsent = new Unsent({ limits, timers, log })
  const isDraining = (): boolean => draining.hasBegun
  const app = newFastify({ limits, https: options.https, requestLog, posts, unsent, queue, accounts, isDraining })
  keepDescriptors(app.server, { log, timers })
  const wrongTokens = new WrongTokens({ timers, log })
  const tokenStreams = new TokenStreams({ guard, timers, wallMs })
  const streams = new Streams({ limits, timers, unsent, tokenStreams })
  const draining = new Draining({ server: app.server, streams, timers })
  app.decorate('drain', (limitMs: number) => draining.drain(limitMs))
  app.decorate('streams', streams)
  app.decorate('unsent', unsent)

  app.addHook('onRequest', async (request, reply) => {
    // On the response itself, so that the head of a stream carries them too.
    reply.raw.setHeader(REQUEST_ID_HEADER, request.id)
    if (request.url.startsWith('/v1/')) reply.raw.setHeader(STORE_HEADER, service.storeId)
  })
  guardRoutes(app, { guard, wrongTokens, requestLog })
  app.addHook('onRequest', async (request) => checkQueryEncoding(request))
  parseBodiesAsJson(app, (request, work) => queue.run(accounts.ofRequest(request), work))
  answerFailures(app, requestLog)
  const reading = new Reading(service, limits.replyBytes)
  const audit = new Audit(options.audit ?? auditToLog(log))
  const admission = new Admission(guard, audit, requestLog)
  serveRequests(app, { service, admission, requestLog, posts, reading })
  serveBatch(app, { service, admission, requestLog, posts, reading })
  serveEvents(app, { service, streams, guard })
  const turns = { queue, accounts }
  serveWebSocket(app, { service, streams, guard, admission, wrongTokens, limits, timers, requestLog, unsent, ...turns })
  serveClassic(app, { service, streams, guard, posts, requestLog, timers })
  serveHealth(app, service, draining)
  serveMetrics(app, { service, timers, version: options.version ?? '0.0.0' })
  serveDashboard(app)
  serveOpenApi(app, options.version ?? '0.0.0')
  app.decorate('replaceTokens', (tokens: readonly Token[]) => {
    if (!known) throw new TypeError('tokens: the server was started without; start it again to have them asked for')
    const changes = known.replace(tokens)
    audit.noteTokens(changes)
    accounts.forgetConnections()
    tokenStreams.review()
    return changes
  })
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
    /**
     * From now on these tokens are good and no others; throws, and changes nothing, where one is not as it should be. What
     * stays as it was goes on; streams of those that are gone are ended.
     */
    readonly replaceTokens: (tokens: readonly Token[]) => TokenChanges
  }
}
