import { ConnectionError, ERROR, FRAME_MAX_BYTES, INITIAL_WINDOW, StreamError, WINDOW_MAX } from './frame.ts'
import type { FrameWriter } from './frame-writer.ts'
import { Outbound } from './outbound.ts'

/**
 * What a connection sends, as far as the client and the socket take it: what does not fit into the window of its stream or of
 * the connection waits here. Only data is subject to it.
 */
export class SendFlow {
  readonly #writer: FrameWriter
  readonly #onFinished: (streamId: number) => void
  readonly #waiting = new Set<Outbound>()
  #window = INITIAL_WINDOW
  #initialWindow = INITIAL_WINDOW

  /** `onFinished` is told when the last frame of a stream is written. */
  constructor({ writer, onFinished }: { writer: FrameWriter; onFinished: (streamId: number) => void }) {
    this.#writer = writer
    this.#onFinished = onFinished
  }

  open(streamId: number): Outbound {
    return new Outbound({ streamId, window: this.#initialWindow, flow: this })
  }

  /** The first frame of an answer. */
  head(streamId: number, block: Buffer): void {
    this.#writer.headers({ streamId, block, isLast: false })
  }

  /** Sends what it can of one stream, now. */
  push(outbound: Outbound): void {
    while (this.#sendFrame(outbound)) {}
    this.#settle(outbound)
  }

  forget(outbound: Outbound): void {
    this.#waiting.delete(outbound)
  }

  /** The client takes more, on all streams together. */
  widen(bytes: number): void {
    this.#window += bytes
    if (this.#window > WINDOW_MAX) throw new ConnectionError(ERROR.flowControl, 'a window that is too large')
    this.resume()
  }

  widenStream(outbound: Outbound, bytes: number): void {
    const { streamId } = outbound
    outbound.window += bytes
    if (outbound.window > WINDOW_MAX) {
      throw new StreamError({ code: ERROR.flowControl, streamId, message: 'a window that is too large' })
    }
    if (this.#waiting.has(outbound)) this.push(outbound)
  }

  /** The client has changed the initial window, and with it that of every open stream; it may fall below 0. */
  resizeAll(streams: Iterable<{ readonly outbound: Outbound }>, initialWindow: number): void {
    const change = initialWindow - this.#initialWindow
    this.#initialWindow = initialWindow
    for (const { outbound } of streams) {
      outbound.window += change
      if (outbound.window > WINDOW_MAX) throw new ConnectionError(ERROR.flowControl, 'a window that is too large')
    }
    this.resume()
  }

  /** Streams take turns, a frame each, so that a large answer does not hold up the others. */
  resume(): void {
    let isMoving = this.#waiting.size > 0
    while (isMoving) {
      isMoving = false
      for (const outbound of this.#waiting) {
        if (!this.#sendFrame(outbound)) continue
        isMoving = true
        this.#settle(outbound)
      }
    }
  }

  #sendFrame(outbound: Outbound): boolean {
    const { streamId, queue } = outbound
    const bytes = Math.min(queue.bytes, outbound.window, this.#window, FRAME_MAX_BYTES)
    if (bytes <= 0 || this.#writer.isClogged) return false
    this.#writer.data({ streamId, queue, bytes })
    outbound.window -= bytes
    this.#window -= bytes
    return true
  }

  #settle(outbound: Outbound): void {
    const { streamId, queue, trailers } = outbound
    outbound.announce()
    if (queue.bytes > 0) return void this.#waiting.add(outbound)
    this.#waiting.delete(outbound)
    if (trailers === undefined) return
    this.#writer.headers({ streamId, block: trailers, isLast: true })
    this.#onFinished(streamId)
  }
}
