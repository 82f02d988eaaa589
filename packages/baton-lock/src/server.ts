/** A server as part of another program. */
import type { ServerOptions as TlsOptions } from 'node:https'
import type { Quotas } from '@baton-lock/protocol'
import {
  type AuditSink,
  buildApp,
  type Log,
  limitsFor,
  listen,
  type ServerLimits,
  Service,
  Statistics,
  systemClock,
  type Token,
} from '@baton-lock/server'
import { isBackedUp } from '@baton-lock/store/kind'
import type { Clock, Store } from '@baton-lock/store/store'
import { openStore } from './store-table.ts'

export {
  type AuditEntry,
  AuditFile,
  type AuditSink,
  jsonLines,
  type LinesOptions,
  type Log,
  type LogFields,
  type LogLevel,
  prettyLines,
  type ServerLimits,
  type Token,
} from '@baton-lock/server'

/** Only the store is required. */
export interface ServerOptions {
  /**
   * The URL of a store, or a function that opens one of your own. A store without a clock of its own has to use the server's, which
   * stands still while the process is suspended. The server closes the store.
   */
  readonly store: string | ((options: { readonly clock: Clock }) => Store | Promise<Store>)
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** 0 picks a free one. Default: 8086. */
  readonly port?: number
  /** The tokens that requests must have, at least one. Default: no token is needed. */
  readonly tokens?: readonly Token[]
  /** Names by which a server without tokens is called, beside IP addresses and `localhost`. Default: none. */
  readonly allowedHosts?: readonly string[]
  readonly limits?: Partial<ServerLimits>
  readonly quotas?: Quotas
  /** The largest result, in bytes of JSON. */
  readonly resultLimit?: number
  /** Default: no log. */
  readonly log?: Log
  /** Records what operators do. Default: the log. */
  readonly audit?: AuditSink
  /** Key and certificate, and with `ca` and `requestCert` those of the clients too. Default: no TLS. */
  readonly https?: TlsOptions
  /** The version of your program, for /openapi.json. */
  readonly version?: string
}

/** A server that listens. */
export interface Server {
  readonly url: string
  /** Sends clients elsewhere and waits until all requests are answered, but not longer than this. To be followed by `close`. */
  drain(limitMs: number): Promise<void>
  close(): Promise<void>
}

/** Opens the store, serves it, and resolves once it listens. */
export async function startServer({
  store: urlOrOpen,
  host,
  port,
  quotas,
  resultLimit,
  limits,
  ...options
}: ServerOptions): Promise<Server> {
  const clock = systemClock()
  let close = async () => clock.stop()
  try {
    const store = await (typeof urlOrOpen === 'string' ? openStore(urlOrOpen, { clock }) : urlOrOpen({ clock }))
    const statistics = new Statistics({ sinceMs: store.nowMs() })
    const service = new Service({ store, log: options.log, quotas, resultLimit, statistics, version: options.version })
    const app = buildApp({
      ...options,
      service,
      limits: { ...(resultLimit !== undefined && limitsFor(resultLimit)), ...limits },
      onCatchUp: clock.onCatchUp,
      backup: isBackedUp(store) ? () => store.backup() : undefined,
    })
    close = async () => {
      await app.close()
      await service.close()
      clock.stop()
    }
    await store.hearAll()
    const url = await listen(app, { host, port })
    return { url, close, drain: async (limitMs) => void (await app.drain(limitMs)) }
  } catch (error) {
    await close()
    throw error
  }
}
