import type { Timing } from '@baton-lock/store/timing'
import type { Calls, Line } from './calls.ts'
import type { Stream } from './connection.ts'
import { closedError } from './connections.ts'
import { isStalePass, Late } from './failures.ts'
import { type Int64, numberOf } from './messages.ts'
import { afterListening } from './patience.ts'
import { keepAliveRpc } from './rpcs.ts'

/** A stream that says nothing for so long while something is asked is given up: a lease may live for no longer than two seconds. */
const SILENCE_MS = 1_000

interface Renewal {
  readonly promise: Promise<number>
  resolve(ttlS: number): void
  reject(error: unknown): void
}

/** Renews leases over one stream. Its member answers one after the other. */
export class KeepAlives {
  readonly #calls: Calls
  readonly #timing: Timing
  #stream: KeepAliveStream | undefined

  constructor(calls: Calls, timing: Timing) {
    this.#calls = calls
    this.#timing = timing
  }

  /** The ttl of a lease in seconds, or 0 where there is none. Rejects with an `EtcdError`. */
  async renew(id: number): Promise<number> {
    for (let tries = 1; ; tries++) {
      const line = this.#calls.line() ?? (await this.#calls.open())
      try {
        return await this.#streamOn(line).renew(id)
      } catch (error) {
        if (tries > 1 || !isStalePass(error)) throw this.#calls.errorOf(error, line.connection)
      }
    }
  }

  close(): void {
    this.#stream?.end(closedError())
  }

  #streamOn(line: Line): KeepAliveStream {
    if (this.#stream?.line.connection === line.connection && !this.#stream.isOver) return this.#stream
    this.#stream = new KeepAliveStream(line, this.#timing, (error) => this.#calls.failed(line, error))
    return this.#stream
  }
}

class KeepAliveStream {
  readonly line: Line
  readonly #stream: Stream<{ readonly id: number }, { readonly id: Int64; readonly ttl: Int64 }>
  /** By lease, those of one in the order in which they were sent: a member answers them in that order. */
  readonly #renewals = new Map<number, Renewal[]>()
  readonly #timing: Timing
  readonly #forget: () => void
  readonly #onFailure: (error: unknown) => void
  #cancelTimer: (() => void) | undefined
  #heardAtMs = 0
  isOver = false

  constructor(line: Line, timing: Timing, onFailure: (error: unknown) => void) {
    this.line = line
    this.#timing = timing
    this.#onFailure = onFailure
    this.#stream = line.connection.stream(keepAliveRpc, line.pass.metadata)
    this.#stream.on('data', ({ id, ttl }) => this.#heard(numberOf(id), numberOf(ttl)))
    this.#stream.on('error', (error) => this.end(error))
    this.#stream.on('end', () => this.end(new Error('the stream has ended')))
    this.#forget = line.connection.onEnd((why) => this.end(why))
  }

  /** Each is sent by itself: an answer to one that was sent before promises less. */
  renew(id: number): Promise<number> {
    const renewal = newRenewal()
    if (this.#renewals.size === 0) this.#heardAtMs = this.#timing.monoMs()
    this.#renewals.set(id, [...(this.#renewals.get(id) ?? []), renewal])
    this.#stream.write({ id })
    if (!this.#cancelTimer) this.#listen(SILENCE_MS)
    return renewal.promise
  }

  #heard(id: number, ttlS: number): void {
    this.#heardAtMs = this.#timing.monoMs()
    const [renewal, ...later] = this.#renewals.get(id) ?? []
    if (later.length > 0) this.#renewals.set(id, later)
    else this.#renewals.delete(id)
    renewal?.resolve(ttlS)
  }

  /** One timer for all, that is set again where something was heard meanwhile. */
  #listen(ms: number): void {
    this.#cancelTimer = afterListening(this.#timing, ms, () => {
      this.#cancelTimer = undefined
      if (this.#renewals.size === 0) return
      const silentMs = this.#timing.monoMs() - this.#heardAtMs
      if (silentMs < SILENCE_MS) this.#listen(SILENCE_MS - silentMs)
      else this.end(new Late())
    })
  }

  /** Whatever is asked for fails. */
  end(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.#forget()
    this.#cancelTimer?.()
    this.#stream.cancel()
    this.#onFailure(error)
    for (const renewal of [...this.#renewals.values()].flat()) renewal.reject(error)
    this.#renewals.clear()
  }
}

function newRenewal(): Renewal {
  let resolve: Renewal['resolve'] = () => {}
  let reject: Renewal['reject'] = () => {}
  const promise = new Promise<number>((fulfil, fail) => {
    resolve = fulfil
    reject = fail
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}
