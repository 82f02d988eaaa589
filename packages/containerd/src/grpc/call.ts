import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { statusOfError } from './errors.ts'
import { framed, MessageReader } from './framing.ts'
import { CallError, STATUS, type Status, trailersOf } from './status.ts'

/** Answers one call. If it returns, the call has succeeded; if it throws, the call fails with the status of the error. */
export type Method = (call: Call) => Promise<void>

const HEAD = { ':status': 200, 'content-type': 'application/grpc' }

/** One call: the stream on which its messages come and go. */
export class Call {
  readonly #stream: ServerHttp2Stream
  readonly #chunks: AsyncIterator<Buffer>
  readonly #reader: MessageReader
  readonly #cancelled = new AbortController()
  #hasEnded = false

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream
    this.#chunks = stream[Symbol.asyncIterator]()
    this.#reader = new MessageReader(this.#chunks)
    stream.once('aborted', () => this.#cancelled.abort(new CallError(STATUS.cancelled, 'the client went away')))
  }

  /** Aborts when nobody waits for the answer any more: a reset, a lost connection, a deadline, or a server that stops. */
  get signal(): AbortSignal {
    return this.#cancelled.signal
  }

  /** The request of a method that takes exactly one message. */
  async request(): Promise<Buffer> {
    const request = await this.#reader.next()
    if (request === undefined || (await this.#reader.next()) !== undefined) {
      throw new CallError(STATUS.unimplemented, 'the method takes exactly one message')
    }
    return request
  }

  /**
   * The messages of the request until the client half-closes; leaving the loop earlier does not end the call. A client whose
   * messages are not read has to wait when the window of its stream is full.
   */
  async *messages(): AsyncGenerator<Buffer, void> {
    for (;;) {
      const message = await this.#reader.next()
      this.signal.throwIfAborted()
      if (message === undefined) return
      yield message
    }
  }

  /**
   * Waits until the client has taken what was sent before, not for this message: so a stream has one message in memory, and
   * the end of the call follows the last message at once.
   */
  async send(message: Uint8Array): Promise<void> {
    this.signal.throwIfAborted()
    if (!this.#stream.headersSent) this.#stream.respond(HEAD, { waitForTrailers: true })
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain', { signal: this.signal })
    this.#stream.write(framed(message))
  }

  /** Runs the method and ends the call. Never rejects. */
  async answer(method: Method): Promise<void> {
    try {
      await method(this)
      this.#end({ code: STATUS.ok, message: '' })
    } catch (error) {
      this.#end(statusOfError(error))
    }
  }

  /** Ends the call before its method has returned. */
  cancel(reason: CallError): void {
    this.#cancelled.abort(reason)
    this.#end(reason)
  }

  #end(status: Status): void {
    if (this.#hasEnded || this.#stream.closed) return
    this.#hasEnded = true
    const trailers = trailersOf(status)
    if (this.#stream.headersSent) {
      this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers))
      this.#stream.end()
    } else {
      this.#stream.respond({ ...HEAD, ...trailers }, { endStream: true })
    }
    void this.#discardRequest()
  }

  /** A stream closes only after its request has been read to the end. */
  async #discardRequest(): Promise<void> {
    try {
      while (!(await this.#chunks.next()).done) {}
    } catch {
      // It was reset, which closes it too.
    }
  }
}
