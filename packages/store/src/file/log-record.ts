import { crc32 } from 'node:zlib'

/*
 * Logs and snapshots are made of frames: a mark, the length of the payload, its checksum, and the payload. The mark tells whether
 * a frame follows a damaged one, so that damage is not taken for a write that a crash has cut short. The checksum begins with the
 * length, so it covers that too.
 */
const MARK = 0x4e544142
const HEADER = 12

export interface Frame {
  readonly offset: number
  readonly payload: Buffer
  /** Where the next frame begins. */
  readonly end: number
}

export function frameOf(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(HEADER + length)
  frame.write(text, HEADER)
  frame.writeUInt32LE(MARK, 0)
  frame.writeUInt32LE(length, 4)
  frame.writeUInt32LE(crc32(frame.subarray(HEADER), length), 8)
  return frame
}

export const FRAME_HEADER = HEADER

/** The length of the payload by its header, or `undefined` if there is no header at this offset. */
export function lengthIn(header: Buffer, offset = 0): number | undefined {
  if (offset + HEADER > header.length || header.readUInt32LE(offset) !== MARK) return undefined
  return header.readUInt32LE(offset + 4)
}

/** The frame that begins at this offset, or `undefined` if there is no whole one. */
export function frameAt(bytes: Buffer, offset: number): Frame | undefined {
  const length = lengthIn(bytes, offset)
  // A mark followed by zeros, which a torn write may leave, would be an empty frame with the right checksum.
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
 * Where an incomplete frame would end by its header, or `undefined` if the header cannot be relied upon. A disk writes a sector as a
 * whole, so only a header that spans two of them may have been cut short itself.
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
