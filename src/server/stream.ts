import type { ServerResponse } from 'node:http'

/**
 * One open stream. Frames are gathered and written once a turn, so that a burst costs one write; what a reader leaves
 * unread stays in the response's buffer, which is where a slow one shows.
 */
export class Stream {
  readonly #response: ServerResponse
  #pending = ''
  #onClose: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('close', () => {
      this.#pending = ''
      const callbacks = this.#onClose
      this.#onClose = []
      for (const callback of callbacks) callback()
    })
    // A reset by the reader is how streams end; without a listener it would end the process.
    response.on('error', () => {})
  }

  get isClosed(): boolean {
    return this.#response.closed || this.#response.destroyed
  }

  /** Characters gathered for the next write. */
  get pending(): number {
    return this.#pending.length
  }

  /** Bytes written that the reader has not taken. */
  get unread(): number {
    return this.#response.writableLength
  }

  /** Called once, when the stream is over; at once if it is already. */
  onClose(callback: () => void): void {
    if (this.isClosed) callback()
    else this.#onClose.push(callback)
  }

  open(headers: Readonly<Record<string, string>>, first: string): void {
    this.#response.writeHead(200, headers)
    if (first === '') this.#response.flushHeaders()
    else this.#response.write(first)
  }

  gather(text: string): void {
    if (!this.isClosed) this.#pending += text
  }

  flush(): void {
    const text = this.#pending
    this.#pending = ''
    if (text !== '' && !this.isClosed) this.#response.write(text)
  }

  /** A reset, not an end: what is unread is dropped, and no client takes it for the end of what there is to say. */
  cut(): void {
    const { socket } = this.#response
    // Only plain TCP can be reset; TLS says by itself whether an end was meant.
    if (socket && !socket.destroyed && !('encrypted' in socket)) socket.resetAndDestroy()
    this.#response.destroy()
  }
}
