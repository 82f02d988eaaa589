import type { Server } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import type { Token } from '@baton-lock/protocol'
import { type Log, noLog, type Service, systemTimers, systemWallMs, type Timers } from '@baton-lock/service'
import { openGuard } from './auth/guard.ts'
import { TokenGuard } from './auth/token-guard.ts'
import { TokenStreams } from './auth/token-streams.ts'
import { type TokenChanges, Tokens } from './auth/tokens.ts'
import { WrongTokens } from './auth/wrong-tokens.ts'
import { classicPaths } from './classic/index.ts'
import { dashboardRoutes } from './dashboard.ts'
import { healthRoutes } from './health.ts'
import { Dispatcher } from './http/dispatcher.ts'
import { newHttpServer } from './http/http-server.ts'
import { Pipelines } from './http/pipeline.ts'
import { Router } from './http/router.ts'
import { keepDescriptors } from './lifecycle/descriptors.ts'
import { type Drained, Draining } from './lifecycle/draining.ts'
import { defaultLimits, type ServerLimits } from './limits.ts'
import { Audit, type AuditSink, auditToLog } from './logging/audit.ts'
import { RequestLog } from './logging/request-log.ts'
import { Metrics } from './metrics/metrics.ts'
import { Accounts } from './scheduling/accounts.ts'
import { FairQueue } from './scheduling/fair-queue.ts'
import { Streams } from './streams/streams.ts'
import { Unsent } from './streams/unsent.ts'
import { Admission } from './v1/admission.ts'
import { backupRoutes, type StoreBackup } from './v1/backup.ts'
import { eventRoutes } from './v1/events.ts'
import { openApiRoutes } from './v1/openapi.ts'
import { batchRoutes, requestRoutes } from './v1/requests.ts'
import { WebSockets } from './web-socket/web-sockets.ts'

/** What a server is made of; everything but the service has a default. */
export interface AppOptions {
  readonly service: Service
  /** Who may ask what; at least one. Default: everybody everything. */
  readonly tokens?: readonly Token[]
  /** Names by which a server without tokens is called, besides IP addresses and `localhost`. Default: none. */
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<ServerLimits>
  /** Default: nothing is logged. */
  readonly log?: Log
  /** Where it is written down what operators do. Default: the log. */
  readonly audit?: AuditSink
  /** Key and certificate, and with `ca` and `requestCert` those of the clients too. Default: no TLS. */
  readonly https?: TlsOptions
  /** Of Baton, for /openapi.json. */
  readonly version?: string
  readonly timers?: Timers
  /** The clock by which tokens expire. Default: that of this machine. */
  readonly wallMs?: () => number
  /** Writes a backup of the store. `undefined` if the store is backed up by other means. */
  readonly backup?: (() => Promise<StoreBackup>) | undefined
  /** Of the clock of the store: while it catches up, everything that has arrived is answered before anything expires. */
  readonly onCatchUp?: ((listener: (isCatchingUp: boolean) => void) => void) | undefined
  /** Folders in which the built dashboard is looked for. Default: where the build puts it. */
  readonly pageFolders?: readonly string[]
}

/** A server over a service. */
export interface App {
  /** Node's own; `listen` has it listen. */
  readonly server: Server
  /** Every route, as `METHOD path`. */
  readonly routes: readonly string[]
  /** How many streams are open, and how many slow readers were cut. */
  readonly streams: { readonly size: number; readonly cut: number }
  /** How many bytes are held because somebody has not read them yet. */
  readonly unsent: { readonly bytes: number }
  /**
   * Answers what was asked, has streams go elsewhere, and resolves when everybody has left. Whoever has not after `limitMs` is cut.
   * To be followed by `close`.
   */
  drain(limitMs: number): Promise<Drained>
  /** Cuts streams, waits for the requests under way, and stops listening. */
  close(): Promise<void>
  /**
   * Replaces the tokens. Throws, and changes nothing, if one is invalid. Tokens that stay the same stay in force; streams of
   * those that are gone are ended.
   */
  replaceTokens(tokens: readonly Token[]): TokenChanges
}

/** Builds a server; `listen` has it listen. */
export function buildApp({
  service,
  tokens,
  allowedHosts,
  log = noLog,
  timers = systemTimers,
  wallMs = systemWallMs,
  version = '0.0.0',
  ...options
}: AppOptions): App {
  const limits = { ...defaultLimits, ...options.limits }
  const known = tokens && new Tokens(tokens)
  const guard = known ? new TokenGuard(known, wallMs) : openGuard(allowedHosts)
  const requestLog = new RequestLog(log, {
    instance: service.instance,
    onRefused: (code) => service.statistics?.answers.refused(code),
  })
  const audit = new Audit(options.audit ?? auditToLog(log))
  const admission = new Admission(guard, audit, requestLog)
  const wrongTokens = new WrongTokens({ timers, log })
  const accounts = new Accounts()
  const queue = new FairQueue()
  options.onCatchUp?.((isCatchingUp) => {
    queue.isUrgent = isCatchingUp
  })

  const unsent = new Unsent({ limits, timers, log })
  const tokenStreams = new TokenStreams({ guard, timers, wallMs })
  const streams = new Streams({ limits, timers, unsent, tokenStreams })

  const router = new Router()
  const { bodyBytes, replyBytes, requestsAhead } = limits
  const dispatcher = new Dispatcher({ router, guard, wrongTokens, requestLog, queue, accounts, bodyBytes })
  const pipelines = new Pipelines({
    unsent,
    requestsAhead,
    requestLog,
    storeId: service.storeId,
    serve: dispatcher.serve,
    isDraining: () => draining.hasBegun,
  })
  const server = newHttpServer({ limits, https: options.https })
  pipelines.attach(server)
  keepDescriptors(server, { log, timers })
  const draining = new Draining({ server, streams, timers })

  const asking = { service, admission, requestLog, replyBytes }
  const classic = classicPaths({ service, streams, guard, timers })
  const metrics = new Metrics({ service, timers, version, streams, unsent })
  for (const route of [
    ...requestRoutes(asking),
    ...batchRoutes(asking),
    ...eventRoutes({ service, streams, guard }),
    ...backupRoutes({ backup: options.backup, guard, audit, idleMs: limits.idleMs }),
    ...classic.routes,
    ...healthRoutes(service, draining),
    ...metrics.routes,
    ...dashboardRoutes(options.pageFolders),
    ...openApiRoutes(version),
  ])
    router.add(route)
  const shared = {
    service,
    guard,
    admission,
    wrongTokens,
    streams,
    limits,
    timers,
    requestLog,
    unsent,
    queue,
    accounts,
  }
  const webSockets = new WebSockets({ server, ...shared })

  return {
    server,
    routes: router.names,
    streams,
    unsent,
    drain: (limitMs) => draining.drain(limitMs),
    async close() {
      streams.close()
      unsent.close()
      classic.close()
      webSockets.close()
      await draining.close()
      metrics.stop()
    },
    replaceTokens(replacing) {
      if (!known) throw new TypeError('tokens: the server was started without; start it again to have them asked for')
      const changes = known.replace(replacing)
      audit.noteTokens(changes)
      tokenStreams.review()
      return changes
    },
  }
}
