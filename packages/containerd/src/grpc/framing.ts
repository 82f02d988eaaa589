import { CallError, STATUS } from './status.ts'

/** Before each message: one byte that says whether it is compressed, and four with its length. */
const PREFIX_BYTES = 5

/** containerd writes up to 1 MiB in a message; clients that raise their limit do so to 16 MiB. */
const MESSAGE_MAX_BYTES = 16 * 1024 * 1024

/** A message with its prefix. */
export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

/** Puts the messages of a stream together from the chunks in which they arrive. */
export class MessageReader {
  readonly #chunks: AsyncIterator<Buffer>
  /** Received and not yet part of a message. */
  #parts: Buffer[] = []
  #bytes = 0

  constructor(chunks: AsyncIterator<Buffer>) {
    this.#chunks = chunks
  }

  /** The next message; `undefined` at the end of the stream. */
  async next(): Promise<Buffer | undefined> {
    if (!(await this.#receive(PREFIX_BYTES))) {
      if (this.#bytes === 0) return undefined
      throw cutOff()
    }
    const prefix = this.#take(PREFIX_BYTES)
    const length = prefix.readUInt32BE(1)
    if (prefix[0] !== 0) throw new CallError(STATUS.unimplemented, 'compressed messages are not supported')
    if (length > MESSAGE_MAX_BYTES) {
      const message = `a message has ${length} bytes; at most ${MESSAGE_MAX_BYTES} are accepted`
      throw new CallError(STATUS.resourceExhausted, message)
    }
    if (!(await this.#receive(length))) throw cutOff()
    return this.#take(length)
  }

  /** Reads until that many bytes are there. Returns false if the stream ends before. */
  async #receive(bytes: number): Promise<boolean> {
    while (this.#bytes < bytes) {
      const { done, value } = await this.#chunks.next()
      if (done) return false
      this.#parts.push(value)
      this.#bytes += value.length
    }
    return true
  }

  #take(bytes: number): Buffer {
    const all = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    this.#parts = [all.subarray(bytes)]
    this.#bytes -= bytes
    return all.subarray(0, bytes)
  }
}

function cutOff(): CallError {
  return new CallError(STATUS.internal, 'the request ends within a message')
}
