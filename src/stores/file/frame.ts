import { crc32 } from 'node:zlib'

/*
 * Everything in the files is in frames: a mark, the length of what follows, its checksum, and that. The mark is how the
 * next frame is found after a damaged one.
 */
const MARK = 0x4e544142
const HEADER = 12

export interface Frame {
  readonly offset: number
  readonly payload: Buffer
  /** Where the next one begins. */
  readonly end: number
}

/** A frame around so many bytes; whoever asks fills the payload, then seals it. */
function newFrame(length: number): { readonly frame: Buffer; readonly payload: Buffer } {
  const frame = Buffer.allocUnsafe(HEADER + length)
  return { frame, payload: frame.subarray(HEADER) }
}

export function seal(frame: Buffer): Buffer {
  const payload = frame.subarray(HEADER)
  frame.writeUInt32LE(MARK, 0)
  frame.writeUInt32LE(payload.length, 4)
  frame.writeUInt32LE(crc32(payload, payload.length), 8)
  return frame
}

export function frameOf(text: string): Buffer {
  const { frame, payload } = newFrame(Buffer.byteLength(text))
  payload.write(text)
  return seal(frame)
}

export const FRAME_HEADER = HEADER

/** How long the payload is that a header announces; nothing where it is no header. */
export function lengthIn(header: Buffer, offset = 0): number | undefined {
  if (offset + HEADER > header.length || header.readUInt32LE(offset) !== MARK) return undefined
  return header.readUInt32LE(offset + 4)
}

/** The frame that begins there; nothing where there is none, or where it is not whole. */
export function frameAt(bytes: Buffer, offset: number): Frame | undefined {
  const length = lengthIn(bytes, offset)
  // An empty one has the checksum zero: a mark with nothing but zeros behind it, which a torn write may leave.
  if (length === undefined || length === 0) return undefined
  const end = offset + HEADER + length
  if (end > bytes.length) return undefined
  const payload = bytes.subarray(offset + HEADER, end)
  return crc32(payload, length) === bytes.readUInt32LE(offset + 8) ? { offset, payload, end } : undefined
}

const mark = Buffer.alloc(4)
mark.writeUInt32LE(MARK)

/** The first whole frame at or after this offset. */
export function nextFrame(bytes: Buffer, from: number): Frame | undefined {
  for (let offset = bytes.indexOf(mark, from); offset >= 0; offset = bytes.indexOf(mark, offset + 1)) {
    const frame = frameAt(bytes, offset)
    if (frame) return frame
  }
  return undefined
}

const SECTOR = 512

/**
 * Where a frame ends that begins there and is not whole, by its own word; nothing where that cannot be relied upon. A disk
 * writes a sector or does not, so only a header that lies across two of them may have been cut short itself.
 */
export function announcedEnd(bytes: Buffer, offset: number): number | undefined {
  const length = lengthIn(bytes, offset)
  const isInOneSector = Math.floor(offset / SECTOR) === Math.floor((offset + HEADER - 1) / SECTOR)
  return length === undefined || !isInOneSector ? undefined : offset + HEADER + length
}

const zeros = Buffer.alloc(64 * 1024)

export function isZero(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at += zeros.length) {
    const end = Math.min(bytes.length, at + zeros.length)
    if (zeros.compare(bytes, at, end, 0, end - at) !== 0) return false
  }
  return true
}
