import { STATUS, type Status } from './status.ts'

/** containerd sends up to 1 MiB in a message, and its other clients more. */
const MESSAGE_MAX_BYTES = 16 * 1024 * 1024

const PREFIX_BYTES = 5
/** A message that claims to be larger gets its memory as it comes. */
const FIRST_BYTES = 1024 * 1024

/** Puts the messages of one stream together: each is a byte for its compression, four for its length, and its bytes. */
export class MessageReader {
  #prefixBytes = 0
  #isCompressed = 0
  #length = 0
  #message: Buffer | undefined
  #filled = 0

  /** A message has begun and is not complete. */
  get isWithin(): boolean {
    return this.#prefixBytes > 0
  }

  /** Adds what is complete to `messages`. Returns why the call cannot go on, if so. */
  read(bytes: Buffer, messages: Uint8Array[]): Status | undefined {
    let at = 0
    while (at < bytes.length) {
      if (this.#message === undefined) {
        at = this.#readPrefix(bytes, at)
        if (this.#prefixBytes < PREFIX_BYTES) return undefined
        const refusal = this.#refusal()
        if (refusal) return refusal
        this.#message = Buffer.allocUnsafe(Math.min(this.#length, FIRST_BYTES))
        this.#filled = 0
      }
      at = this.#fill(this.#message, bytes, at)
      if (this.#filled < this.#length) return undefined
      messages.push(this.#message)
      this.#message = undefined
      this.#prefixBytes = 0
    }
    return undefined
  }

  #readPrefix(bytes: Buffer, start: number): number {
    let at = start
    while (this.#prefixBytes < PREFIX_BYTES && at < bytes.length) {
      const byte = bytes[at++]!
      if (this.#prefixBytes++ === 0) {
        this.#isCompressed = byte
        this.#length = 0
      } else this.#length = this.#length * 256 + byte
    }
    return at
  }

  #refusal(): Status | undefined {
    if (this.#isCompressed !== 0) {
      return { code: STATUS.unimplemented, message: 'compressed messages are not taken' }
    }
    if (this.#length > MESSAGE_MAX_BYTES) {
      const message = `a message of ${this.#length} bytes is larger than the ${MESSAGE_MAX_BYTES} that are taken`
      return { code: STATUS.resourceExhausted, message }
    }
    return undefined
  }

  #fill(message: Buffer, bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#length - this.#filled)
    const filled = this.#filled + end - at
    const target = filled > message.length ? this.#grown(message, filled) : message
    bytes.copy(target, this.#filled, at, end)
    this.#filled = filled
    return end
  }

  #grown(message: Buffer, wanted: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.min(this.#length, Math.max(wanted, 2 * message.length)))
    message.copy(grown, 0, 0, this.#filled)
    this.#message = grown
    return grown
  }
}
