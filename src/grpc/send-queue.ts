/** Bytes that wait to be sent, in the pieces in which they came. */
export class SendQueue {
  #pieces: Uint8Array[] = []
  /** How much of the first piece is gone. */
  #taken = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  push(piece: Uint8Array): void {
    if (piece.length === 0) return
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }

  /** Moves the first `count` bytes into `target`; there must be that many. */
  take(target: Uint8Array, start: number, count: number): void {
    let at = start
    const end = start + count
    this.#bytes -= count
    while (at < end) {
      const piece = this.#pieces[0]!
      const length = Math.min(piece.length - this.#taken, end - at)
      target.set(length === piece.length ? piece : piece.subarray(this.#taken, this.#taken + length), at)
      at += length
      this.#taken += length
      if (this.#taken < piece.length) return
      this.#pieces.shift()
      this.#taken = 0
    }
  }

  clear(): void {
    this.#pieces = []
    this.#taken = 0
    this.#bytes = 0
  }
}
