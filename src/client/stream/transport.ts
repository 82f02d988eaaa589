import type { ReplyOf, RequestType, StreamScope } from '../../protocol/index.ts'
import type { ClientClock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'
import { ServerStores } from '../server-stores.ts'
import {
  type CallOptions,
  type InputOf,
  promised,
  type StreamHandlers,
  type Tell,
  type Transport,
} from '../transport.ts'
import { ANNOUNCED_MS, causeOf } from '../transport-errors.ts'
import { Asks } from './asks.ts'
import { Connection } from './connection.ts'
import type { Dial, WireEnd } from './wire.ts'

interface StreamTransportOptions {
  readonly bases: readonly URL[]
  readonly dial: Dial
  /** How requests go where no stream can be had. Made when it is needed. */
  readonly fallback?: (() => Transport) | undefined
  readonly clock: ClientClock
  readonly notice: (notice: string) => void
}

const CALL_MS = 10_000
/** A server that lets one in says so within this time. */
const GREETING_MS = 5_000
/** For so long the other way is taken after a stream was forbidden, and after none was heard of. */
const FORBIDDEN_MS = 60_000
const SILENT_MS = 10_000

/** One stream to one of several servers at a time: the one that answered last. */
export class StreamTransport implements Transport {
  readonly #options: StreamTransportOptions
  readonly #stores: ServerStores
  readonly #asks = new Asks()
  #connection: Connection | undefined
  #fallback: Transport | undefined
  #fallbackUntilMs = -Infinity
  #hasSaidSo = false
  /** So many connections in a row have ended without a word from the server. */
  #unheard = 0
  #present: number
  /** Connections to servers that are about to stop, until all that was asked on them is answered. */
  readonly #leaving = new Set<Connection>()
  #announcedUntilMs = -Infinity
  #isClosed = false
  /** How often a connection has ended. */
  reconnects = 0

  constructor(options: StreamTransportOptions, first = 0) {
    this.#options = options
    this.#stores = new ServerStores(options.notice)
    this.#present = first % options.bases.length
  }

  call<Type extends RequestType>(request: InputOf<Type>, options: CallOptions = {}): Promise<ReplyOf<Type>> {
    return promised<Type>((tell) => this.send<Type>(request, options, tell))
  }

  send<Type extends RequestType>(request: InputOf<Type>, options: CallOptions, tell: Tell<Type>): void {
    if (this.#isClosed) {
      tell(undefined, new UnavailableError('the client was closed'))
      return
    }
    const other = this.#otherWay()
    if (other) {
      this.#asks.sentElsewhere(request as InputOf<RequestType>)
      other.call<Type>(request, options).then(tell, (error) => tell(undefined, error))
      return
    }
    const limitMs = Math.min(options.timeoutMs ?? CALL_MS, CALL_MS)
    this.#open().send(request as InputOf<RequestType>, limitMs, tell as Tell<RequestType>)
  }

  listen(scope: StreamScope, handlers: StreamHandlers, options: { readonly lastId?: string } = {}): { close(): void } {
    if (this.#isClosed) throw new UnavailableError('the client was closed')
    const other = this.#otherWay()
    if (other) return other.listen(scope, handlers, options)
    return this.#open().listen({ scope, ...options }, handlers)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#leaving) connection.end(new UnavailableError('the client was closed'))
    this.#connection?.end(new UnavailableError('the client was closed'))
    this.#connection = undefined
    await this.#fallback?.close()
  }

  #open(): Connection {
    if (this.#connection) return this.#connection
    const { bases, dial, clock } = this.#options
    const base = bases[this.#present]!
    const wire = dial(base, {
      onText: (text) => connection.onText(text),
      onBeat: () => connection.onBeat(),
      onEnd: (end) => this.#ended(base, connection, end),
    })
    const connection: Connection = new Connection({
      wire,
      clock,
      asks: this.#asks,
      onDraining: () => this.#leave(connection),
      onGreeting: (store) => {
        cancel()
        this.#unheard = 0
        this.#announcedUntilMs = -Infinity
        this.#stores.note(base, store)
      },
      onUseless: (end) => (connection.isGreeted ? this.#ended(base, connection, end) : notGreeted(end)),
    })
    const notGreeted = (end: WireEnd) => {
      // Somebody lets it in and does not pass on what is said, or nobody is there at all: where all are silent, the other way
      // will tell.
      const isEverywhere = ++this.#unheard >= bases.length
      this.#ended(base, connection, { ...end, isSilent: isEverywhere && !end.isForbidden })
    }
    const cancel = clock.after(GREETING_MS, () =>
      notGreeted({ error: new UnavailableError(`no greeting came for ${GREETING_MS} ms`) }),
    )
    this.#connection = connection
    return connection
  }

  #ended(base: URL, connection: Connection, { error, refusal, isForbidden, isSilent }: WireEnd): void {
    if (this.#connection === connection) {
      this.#connection = undefined
      this.reconnects++
      if ((isForbidden || isSilent) && this.#options.fallback)
        this.#takeOtherWay(base, { error, forMs: isForbidden ? FORBIDDEN_MS : SILENT_MS })
      else if (!refusal && !this.#isClosed) this.#moveOn(base, error)
    }
    this.#leaving.delete(connection)
    const why = `no answer from ${base.origin}: ${causeOf(error)}`
    connection.end(new UnavailableError(why, { cause: error, isAnnounced: this.#isAnnounced }), refusal)
  }

  /** What is asked from now on goes to the next server, or to the same one when it is back. */
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

  #takeOtherWay(base: URL, { error, forMs }: { readonly error: unknown; readonly forMs: number }): void {
    const { clock, notice } = this.#options
    this.#unheard = 0
    this.#fallbackUntilMs = clock.monoMs() + forMs
    if (this.#hasSaidSo) return
    this.#hasSaidSo = true
    notice(`no stream to ${base.origin} (${causeOf(error)}); requests go by HTTP, one by one`)
  }

  #otherWay(): Transport | undefined {
    const { clock, fallback } = this.#options
    if (!fallback || this.#fallbackUntilMs === -Infinity || this.#fallbackUntilMs <= clock.monoMs()) return undefined
    this.#fallback ??= fallback()
    return this.#fallback
  }
}
