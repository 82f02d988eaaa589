import { ERROR, StreamError } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MessageReader } from './message-reader.ts'
import { STATUS, type Status } from './status.ts'

/** How much a client may send on one stream before somebody takes it: one of containerd's messages, and the next. */
export const STREAM_WINDOW = 2 * 1024 * 1024

/** The call is over, and not by the client's half-close: what came of its messages may not be all. */
export class CallCancelled extends Error {
  constructor() {
    super('the call was cancelled')
  }
}

type Result = IteratorResult<Uint8Array, undefined>

type Waiter = (result: Result | Promise<Result>) => void

/**
 * What one stream receives. While a message waits to be taken the window of the stream is not replenished: so a client that
 * is faster than the handler has to wait.
 */
export class Inbound {
  readonly #writer: FrameWriter
  readonly #streamId: number
  readonly #reader = new MessageReader()
  readonly #messages: Uint8Array[] = []
  #waiters: Waiter[] | undefined
  /** Received, and not given back to the window. */
  #owed = 0
  /** Closed: the handler has ended the call. */
  #state: 'open' | 'half-closed' | 'closed' | 'cancelled' = 'open'

  constructor({ streamId, writer }: { streamId: number; writer: FrameWriter }) {
    this.#streamId = streamId
    this.#writer = writer
  }

  /** Messages that nobody has taken. */
  get waiting(): readonly Uint8Array[] {
    return this.#messages
  }

  /** `frameBytes` counts the padding too. Returns why the call cannot go on, if so. */
  receive(bytes: Buffer, frameBytes: number): Status | undefined {
    this.#owed += frameBytes
    if (this.#owed > STREAM_WINDOW) {
      const message = 'more than the window allows'
      throw new StreamError({ code: ERROR.flowControl, streamId: this.#streamId, message })
    }
    if (this.#state !== 'open') return undefined
    const refusal = this.#reader.read(bytes, this.#messages)
    while (this.#waiters?.length && this.#messages.length > 0) {
      this.#waiters.shift()!({ done: false, value: this.#messages.shift()! })
    }
    this.#replenish()
    return refusal
  }

  /** The client sends nothing more. Returns what is wrong with that, if so. */
  halfClose(): Status | undefined {
    if (this.#state !== 'open') return undefined
    if (this.#reader.isWithin) return { code: STATUS.internal, message: 'the request ends within a message' }
    this.#finish('half-closed')
    return undefined
  }

  next(): Promise<Result> {
    if (this.#state === 'cancelled') return Promise.reject(new CallCancelled())
    const value = this.#messages.shift()
    if (value !== undefined) {
      this.#replenish()
      return Promise.resolve({ done: false, value })
    }
    if (this.#state !== 'open') return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.#waiters ??= []
      this.#waiters.push(resolve)
    })
  }

  /** Nobody wants more: what has come is dropped, and so is what comes. */
  close(): void {
    this.#messages.length = 0
    this.#finish('closed')
  }

  cancel(): void {
    this.#messages.length = 0
    this.#finish('cancelled')
  }

  #finish(state: 'half-closed' | 'closed' | 'cancelled'): void {
    this.#state = state
    const waiters = this.#waiters ?? []
    this.#waiters = undefined
    // Clients half-close and reset in one go: where both come in one turn, it is the reset that counts.
    for (const tell of waiters) tell(Promise.resolve().then(() => this.next()))
  }

  #replenish(): void {
    if (this.#state !== 'open' || this.#messages.length > 0 || this.#owed < STREAM_WINDOW / 2) return
    this.#writer.windowUpdate({ streamId: this.#streamId, bytes: this.#owed })
    this.#owed = 0
  }
}
