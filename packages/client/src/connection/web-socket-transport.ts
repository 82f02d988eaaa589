import type { RequestType, StreamScope } from '@baton-lock/protocol'
import type { ClientClock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'
import { Connection } from './connection.ts'
import { causeOf } from './connection-errors.ts'
import { SentHolds } from './sent-holds.ts'
import type { InputOf, OnReply, StreamHandlers, Transport } from './transport.ts'
import type { Dial, WireEnd } from './web-socket.ts'

interface WebSocketTransportOptions {
  readonly bases: readonly URL[]
  readonly dial: Dial
  readonly clock: ClientClock
  readonly notice: (notice: string) => void
}

/** After a server has announced that it stops, failures that may follow from it are not reported for this long. */
const ANNOUNCED_MS = 15_000

/** One connection at a time, to one of several servers: the one that answered last. */
export class WebSocketTransport implements Transport {
  readonly #options: WebSocketTransportOptions
  readonly #stores: ServerStores
  readonly #sentHolds = new SentHolds()
  #connection: Connection | undefined
  /** The index of the server that is asked. */
  #present: number
  /** Connections to servers that are about to stop, until all requests on them are answered. */
  readonly #leaving = new Set<Connection>()
  #announcedUntilMs = -Infinity
  #isClosed = false
  /** How many connections have ended. */
  reconnects = 0

  constructor(options: WebSocketTransportOptions, first = 0) {
    this.#options = options
    this.#stores = new ServerStores(options.notice)
    this.#present = first % options.bases.length
  }

  send<Type extends RequestType>(request: InputOf<Type>, timeoutMs: number, onReply: OnReply<Type>): void {
    if (this.#isClosed) onReply(undefined, new UnavailableError('the client was closed'))
    else this.#open().send(request as InputOf<RequestType>, timeoutMs, onReply as OnReply<RequestType>)
  }

  listen(scope: StreamScope, handlers: StreamHandlers, options: { readonly lastId?: string } = {}): { close(): void } {
    if (this.#isClosed) throw new UnavailableError('the client was closed')
    return this.#open().listen({ scope, ...options }, handlers)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#leaving) connection.end(new UnavailableError('the client was closed'))
    this.#connection?.end(new UnavailableError('the client was closed'))
    this.#connection = undefined
  }

  #open(): Connection {
    if (this.#connection) return this.#connection
    const { bases, dial, clock } = this.#options
    const base = bases[this.#present]!
    const connection: Connection = new Connection({
      dial: (handlers) => dial(base, handlers),
      clock,
      sentHolds: this.#sentHolds,
      onGreeting: (store) => {
        this.#announcedUntilMs = -Infinity
        this.#stores.note(base, store)
      },
      onDraining: () => this.#leave(connection),
      onEnd: (end) => this.#ended(base, connection, end),
    })
    this.#connection = connection
    return connection
  }

  /** Unless the server has refused this client, the next request goes to the next server. */
  #ended(base: URL, connection: Connection, { error, refusal }: WireEnd): void {
    if (this.#connection === connection) {
      this.#connection = undefined
      this.reconnects++
      if (!refusal) this.#moveOn(base, error)
    }
    this.#leaving.delete(connection)
    const why = `no answer from ${base.origin}: ${causeOf(error)}`
    connection.end(new UnavailableError(why, { cause: error, isAnnounced: this.#isAnnounced }), refusal)
  }

  /** The next request goes to the next server, or to the same one when it is back. */
  #leave(connection: Connection): void {
    if (this.#connection !== connection) return
    const { bases, clock } = this.#options
    this.#connection = undefined
    this.reconnects++
    this.#present = (this.#present + 1) % bases.length
    this.#announcedUntilMs = clock.monoMs() + ANNOUNCED_MS
    for (const each of this.#leaving) if (each.isClosed) this.#leaving.delete(each)
    this.#leaving.add(connection)
    connection.leave()
  }

  get #isAnnounced(): boolean {
    return this.#options.clock.monoMs() < this.#announcedUntilMs
  }

  #moveOn(base: URL, error: unknown): void {
    const { bases, notice } = this.#options
    if (bases.length < 2) return
    this.#present = (this.#present + 1) % bases.length
    if (!this.#isAnnounced) notice(`leaving ${base.origin} (${causeOf(error)}) for ${bases[this.#present]!.origin}`)
  }
}

/**
 * The store of each server, as the server last reported it. Servers that a client moves between must share one store; if two of
 * them do not, the user is notified once for this pair.
 */
class ServerStores {
  readonly #notice: (notice: string) => void
  readonly #stores = new Map<string, string>()
  readonly #noticed = new Set<string>()

  constructor(notice: (notice: string) => void) {
    this.#notice = notice
  }

  note(server: URL, store: string): void {
    const name = server.href.replace(/\/$/, '')
    if (this.#stores.get(name) === store) return
    this.#stores.set(name, store)
    for (const [other, otherStore] of this.#stores) if (otherStore !== store) this.#report(other, name)
  }

  #report(one: string, other: string): void {
    const pair = JSON.stringify([one, other].sort())
    if (this.#noticed.has(pair)) return
    this.#noticed.add(pair)
    this.#notice(
      `${one} and ${other} are over different stores: locks do not exclude one another across them; ` +
        'give both servers the same store (`baton serve --store URL`), or name only one of them',
    )
  }
}
