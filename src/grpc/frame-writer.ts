import type { Socket } from 'node:net'
import { ERROR, FLAG, FRAME, FRAME_HEAD_BYTES, FRAME_MAX_BYTES } from './frame.ts'
import { EMPTY_TABLE } from './hpack-encoder.ts'
import type { SendQueue } from './send-queue.ts'

/** An answer of 32 KiB and some more; at least one frame. */
const SLAB_BYTES = 128 * 1024

/**
 * Gathers the frames of one turn, and writes them at once. They are copied into one slab of memory, which is used again as soon as
 * the kernel has taken it: that costs about as much as to hand over a list of buffers, half of what a new buffer each time does,
 * and nobody has to know until when the payloads are in use.
 */
export class FrameWriter {
  readonly #socket: Socket
  #slab: Buffer | undefined
  #at = 0
  #isHeld = false
  #isDue = false
  #owesEmptyTable = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The socket takes no more for now. Frames are still written, and kept by it; for data, wait until it drains. */
  get isClogged(): boolean {
    return this.#socket.writableNeedDrain
  }

  /** Until `release`, nothing goes out that fits into the slab. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#flush()
  }

  /** The client has made the table smaller; it has to be told that ours is empty (RFC 7541, section 4.2). */
  oweEmptyTable(): void {
    this.#owesEmptyTable = true
  }

  headers({ streamId, block, isLast }: { streamId: number; block: Buffer; isLast: boolean }): void {
    const prefix = this.#owesEmptyTable ? EMPTY_TABLE.length : 0
    const flags = isLast ? FLAG.endHeaders | FLAG.endStream : FLAG.endHeaders
    const slab = this.#begin(prefix + block.length, { type: FRAME.headers, flags, streamId })
    if (prefix > 0) slab.set(EMPTY_TABLE, this.#at)
    slab.set(block, this.#at + prefix)
    this.#owesEmptyTable = false
    this.#end(prefix + block.length)
  }

  /** The first bytes of what a stream has to send. */
  data({ streamId, queue, bytes }: { streamId: number; queue: SendQueue; bytes: number }): void {
    const slab = this.#begin(bytes, { type: FRAME.data, flags: 0, streamId })
    queue.take(slab, this.#at, bytes)
    this.#end(bytes)
  }

  settings(pairs: readonly (readonly [id: number, value: number])[]): void {
    const slab = this.#begin(pairs.length * 6, { type: FRAME.settings, flags: 0, streamId: 0 })
    let at = this.#at
    for (const [id, value] of pairs) at = slab.writeUInt32BE(value, slab.writeUInt16BE(id, at))
    this.#end(pairs.length * 6)
  }

  settingsAck(): void {
    this.#begin(0, { type: FRAME.settings, flags: FLAG.ack, streamId: 0 })
    this.#end(0)
  }

  pingAck(payload: Buffer): void {
    const slab = this.#begin(payload.length, { type: FRAME.ping, flags: FLAG.ack, streamId: 0 })
    slab.set(payload, this.#at)
    this.#end(payload.length)
  }

  windowUpdate({ streamId, bytes }: { streamId: number; bytes: number }): void {
    this.#begin(4, { type: FRAME.windowUpdate, flags: 0, streamId }).writeUInt32BE(bytes, this.#at)
    this.#end(4)
  }

  rstStream({ streamId, code }: { streamId: number; code: number }): void {
    this.#begin(4, { type: FRAME.rstStream, flags: 0, streamId }).writeUInt32BE(code, this.#at)
    this.#end(4)
  }

  goaway({ lastStreamId, code, why }: { lastStreamId: number; code: number; why: string }): void {
    const text = Buffer.from(code === ERROR.none ? '' : why)
    const slab = this.#begin(8 + text.length, { type: FRAME.goaway, flags: 0, streamId: 0 })
    slab.set(text, slab.writeUInt32BE(code, slab.writeUInt32BE(lastStreamId, this.#at)))
    this.#end(8 + text.length)
  }

  /** Returns the slab, with the head of a frame written, and room for the payload from `#at`. */
  #begin(length: number, { type, flags, streamId }: { type: number; flags: number; streamId: number }): Buffer {
    if (length > FRAME_MAX_BYTES) throw new RangeError(`a frame of ${length} bytes`)
    if (this.#at + FRAME_HEAD_BYTES + length > SLAB_BYTES) this.#flush()
    this.#slab ??= Buffer.allocUnsafeSlow(SLAB_BYTES)
    const slab = this.#slab
    const at = this.#at
    slab[at] = length >> 16
    slab[at + 1] = length >> 8
    slab[at + 2] = length
    slab[at + 3] = type
    slab[at + 4] = flags
    slab[at + 5] = streamId >> 24
    slab[at + 6] = streamId >> 16
    slab[at + 7] = streamId >> 8
    slab[at + 8] = streamId
    this.#at = at + FRAME_HEAD_BYTES
    return slab
  }

  #end(length: number): void {
    this.#at += length
    if (this.#isHeld || this.#isDue) return
    this.#isDue = true
    process.nextTick(() => {
      this.#isDue = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#at === 0 || this.#slab === undefined) return
    const bytes = this.#slab.subarray(0, this.#at)
    this.#at = 0
    if (this.#socket.destroyed) return
    this.#socket.write(bytes)
    // What the kernel has not taken at once is still to be read from the slab, whenever it can be.
    if (this.#socket.writableLength > 0) this.#slab = undefined
  }
}
