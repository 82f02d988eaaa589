import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/**
 * One open stream. Frames are gathered and written once a turn, so that a burst costs one write; what a reader leaves
 * unread stays in the response's buffer, which is where a slow one shows.
 */
export class Stream {
  readonly #response: ServerResponse
  #pending = ''
  #pendingBytes = 0
  /** Of what was written, when it was last looked at. */
  #unread = 0
  #isClosed = false
  #onClose: (() => void)[] = []
  /** Called when some of what was written was taken. */
  onTaken: () => void = () => {}
  /** Bytes that wait to be told, before they come here. */
  waiting = 0
  #untilTaken: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('close', () => {
      this.#isClosed = true
      this.#pending = ''
      this.#pendingBytes = 0
      const callbacks = this.#onClose
      this.#onClose = []
      for (const callback of [...callbacks, ...this.#untilTaken]) callback()
    })
    // A reset by the reader is how streams end; without a listener it would end the process.
    response.on('error', () => {})
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#response.destroyed
  }

  /** Bytes gathered for the next write. */
  get pending(): number {
    return this.#pendingBytes
  }

  /** Bytes written that the reader has not taken. */
  get unread(): number {
    this.#unread = this.#response.writableLength
    return this.#unread
  }

  /** Bytes held for it in all. */
  get held(): number {
    return this.isClosed ? 0 : this.waiting + this.#pendingBytes + this.#unread
  }

  /** Called once, when the stream is over; at once if it is already. */
  onClose(callback: () => void): void {
    if (this.isClosed) callback()
    else this.#onClose.push(callback)
  }

  /** Resolves when all that was gathered so far has been taken; false where the stream is over. */
  taken(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.isClosed) resolve(false)
      else this.#untilTaken.push(() => resolve(!this.isClosed))
    })
  }

  open(headers: OutgoingHttpHeaders, first: string): void {
    this.#response.writeHead(200, headers)
    if (first === '') this.#response.flushHeaders()
    else this.#response.write(first)
  }

  gather(text: string, bytes: number): void {
    this.#pending += text
    this.#pendingBytes += bytes
  }

  /** Writes what was gathered; what `unread` says afterwards is what could not be sent at once. */
  flush(encode: (text: string) => Buffer): void {
    const text = this.#pending
    this.#pending = ''
    this.#pendingBytes = 0
    if (text === '' || this.isClosed || this.#response.writableEnded) return
    const untilTaken = this.#untilTaken
    this.#response.cork()
    this.#response.write(encode(text), () => {
      this.#unread = this.#response.writableLength
      this.onTaken()
      this.#settle(untilTaken)
    })
    this.#response.uncork()
    this.#unread = this.#response.writableLength
  }

  /** Ends it with these words, when all that was said before them is read. */
  end(words: string): void {
    if (this.isClosed) return
    const { socket } = this.#response
    this.#response.end(this.#pending + words, () => socket?.destroySoon())
  }

  /** A reset, not an end: what is unread is dropped, and no client takes it for the end of what there is to say. */
  cut(): void {
    const { socket } = this.#response
    // Only plain TCP can be reset; TLS says by itself whether an end was meant.
    if (socket && !socket.destroyed && !('encrypted' in socket)) socket.resetAndDestroy()
    this.#response.destroy()
  }

  #settle(taken: readonly (() => void)[]): void {
    if (taken.length === 0) return
    this.#untilTaken = this.#untilTaken.filter((each) => !taken.includes(each))
    for (const callback of taken) callback()
  }
}
