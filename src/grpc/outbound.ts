import { SendQueue } from './send-queue.ts'
import { RESPONSE_HEAD } from './status.ts'

const PREFIX_BYTES = 5
/** With more than this waiting, a handler is asked to wait too. */
const ENOUGH_BYTES = 64 * 1024

/** What the streams of a connection have in common, see `SendFlow`. */
interface Flow {
  head(streamId: number, block: Buffer): void
  push(outbound: Outbound): void
  forget(outbound: Outbound): void
}

/** What one stream sends: a head, messages, trailers; in an answer without messages the trailers are all. */
export class Outbound {
  readonly streamId: number
  readonly queue = new SendQueue()
  /** How much the client takes on this stream. */
  window: number
  readonly #flow: Flow
  #hasHead = false
  #trailers: Buffer | undefined
  #waiters: (() => void)[] | undefined

  constructor({ streamId, window, flow }: { streamId: number; window: number; flow: Flow }) {
    this.streamId = streamId
    this.window = window
    this.#flow = flow
  }

  /** Set when nothing comes after what is in the queue. */
  get trailers(): Buffer | undefined {
    return this.#trailers
  }

  get hasHead(): boolean {
    return this.#hasHead
  }

  get isEnough(): boolean {
    return this.queue.bytes > ENOUGH_BYTES
  }

  send(pieces: readonly Uint8Array[]): void {
    if (!this.#hasHead) this.#flow.head(this.streamId, RESPONSE_HEAD)
    this.#hasHead = true
    let length = 0
    for (const piece of pieces) length += piece.length
    const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
    prefix[0] = 0
    prefix.writeUInt32BE(length, 1)
    this.queue.push(prefix)
    for (const piece of pieces) this.queue.push(piece)
    this.#flow.push(this)
  }

  finish(trailers: Buffer): void {
    this.#trailers = trailers
    this.#flow.push(this)
  }

  /** Nothing more is sent. */
  drop(): void {
    this.queue.clear()
    this.#flow.forget(this)
    this.announce()
  }

  drained(): Promise<void> {
    if (!this.isEnough) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiters ??= []
      this.#waiters.push(resolve)
    })
  }

  /** To those who wait until there is room again. */
  announce(): void {
    if (this.#waiters === undefined || this.isEnough) return
    for (const resolve of this.#waiters) resolve()
    this.#waiters = undefined
  }
}
