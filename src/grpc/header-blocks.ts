import { ConnectionError, ERROR, FLAG, FRAME, FRAME_HEAD_BYTES, type Frame, unpadded } from './frame.ts'

/** Compressed; frames without content count too. */
const BLOCK_MAX_BYTES = 64 * 1024
const PRIORITY_BYTES = 5

interface HeaderBlock {
  readonly streamId: number
  readonly bytes: Buffer
  readonly isLast: boolean
}

/** Header blocks, of a HEADERS frame and the CONTINUATION frames that belong to it. */
export class HeaderBlocks {
  #begun:
    | { readonly streamId: number; readonly isLast: boolean; readonly fragments: Buffer[]; bytes: number }
    | undefined

  /** A block is not complete: nothing but the next part of it may come. */
  get isWithin(): boolean {
    return this.#begun !== undefined
  }

  /** Returns the block, where the frame is the last of one. */
  read(frame: Frame): HeaderBlock | undefined {
    return frame.type === FRAME.headers ? this.#begin(frame) : this.#continue(frame)
  }

  #begin(frame: Frame): HeaderBlock | undefined {
    const { streamId, flags } = frame
    const isLast = (flags & FLAG.endStream) !== 0
    const fragment = withoutPriority(unpadded(frame), flags)
    if (flags & FLAG.endHeaders) return { streamId, isLast, bytes: fragment }
    this.#begun = { streamId, isLast, fragments: [Buffer.from(fragment)], bytes: fragment.length }
    return undefined
  }

  #continue({ streamId, flags, payload }: Frame): HeaderBlock | undefined {
    const begun = this.#begun
    if (begun?.streamId !== streamId) throw new ConnectionError(ERROR.protocol, 'a continuation of nothing')
    begun.bytes += payload.length + FRAME_HEAD_BYTES
    if (begun.bytes > BLOCK_MAX_BYTES) throw new ConnectionError(ERROR.enhanceYourCalm, 'headers without end')
    begun.fragments.push(Buffer.from(payload))
    if ((flags & FLAG.endHeaders) === 0) return undefined
    this.#begun = undefined
    return { streamId, isLast: begun.isLast, bytes: Buffer.concat(begun.fragments) }
  }
}

/** Nobody has to heed priorities any more (RFC 9113, section 5.3). */
function withoutPriority(payload: Buffer, flags: number): Buffer {
  if ((flags & FLAG.priority) === 0) return payload
  if (payload.length < PRIORITY_BYTES) throw new ConnectionError(ERROR.frameSize, 'headers that are too short')
  return payload.subarray(PRIORITY_BYTES)
}
