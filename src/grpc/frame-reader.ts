import { ConnectionError, ERROR, FRAME_HEAD_BYTES, FRAME_MAX_BYTES, type Frame } from './frame.ts'

/**
 * Cuts what comes in into frames. A frame that lies in one chunk is not copied; one that does not is put together in a buffer
 * of its own, which is used again for the next such frame.
 */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  #partial: Buffer | undefined
  #partialBytes = 0

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  /** @throws ConnectionError for a frame that is too long, and whatever `onFrame` throws */
  read(chunk: Buffer): void {
    let at = this.#partialBytes > 0 ? this.#complete(chunk) : 0
    while (chunk.length - at >= FRAME_HEAD_BYTES) {
      const end = at + FRAME_HEAD_BYTES + lengthAt(chunk, at)
      if (end > chunk.length) break
      this.#emit(chunk, at, end)
      at = end
    }
    if (at < chunk.length) this.#keep(chunk, at, chunk.length)
  }

  /** Adds to the frame that an earlier chunk has begun; returns where the next one begins. */
  #complete(chunk: Buffer): number {
    let at = 0
    if (this.#partialBytes < FRAME_HEAD_BYTES) {
      at = this.#keep(chunk, 0, Math.min(chunk.length, FRAME_HEAD_BYTES - this.#partialBytes))
      if (this.#partialBytes < FRAME_HEAD_BYTES) return at
    }
    const partial = this.#partial!
    const whole = FRAME_HEAD_BYTES + lengthAt(partial, 0)
    at = this.#keep(chunk, at, Math.min(chunk.length, at + whole - this.#partialBytes))
    if (this.#partialBytes < whole) return at
    this.#partialBytes = 0
    this.#emit(partial, 0, whole)
    return at
  }

  #keep(chunk: Buffer, start: number, end: number): number {
    this.#partial ??= Buffer.allocUnsafeSlow(FRAME_HEAD_BYTES + FRAME_MAX_BYTES)
    this.#partialBytes += chunk.copy(this.#partial, this.#partialBytes, start, end)
    return end
  }

  #emit(bytes: Buffer, at: number, end: number): void {
    this.#onFrame({
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      streamId: bytes.readUInt32BE(at + 5) & 0x7fffffff,
      payload: bytes.subarray(at + FRAME_HEAD_BYTES, end),
    })
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  if (length > FRAME_MAX_BYTES) throw new ConnectionError(ERROR.frameSize, `a frame of ${length} bytes`)
  return length
}
