import type { Resident } from '../resident/resident.ts'
import { type Entry, replay } from './entry.ts'
import type { Damage } from './errors.ts'
import { announcedEnd, type Frame, frameAt, isZero, lengthIn, nextFrame } from './frame.ts'
import type { LogEnd } from './log.ts'

export interface LogRead extends LogEnd {
  readonly records: number
  readonly restarts: number
  /** The latest time in it. */
  readonly lastMs: number
  /** There is something behind the last good frame that is no whole one: a write that a crash has cut short. */
  readonly isTorn: boolean
  readonly damage?: Omit<Damage, 'file'> & Lost
}

/**
 * Plays a log once more, up to the end or to the first thing that is not what was written. Only the last write can have
 * been cut short, as every one waits for the one before; so a whole frame behind a bad one, or anything behind the end that
 * a bad one announces, means damage.
 */
export function readLog(bytes: Buffer, resident: Resident): LogRead {
  let read = { end: 0, lastFrame: bytes.subarray(0, 0), records: 0, restarts: 0, lastMs: 0 }
  for (let frame = frameAt(bytes, 0); frame; frame = frameAt(bytes, frame.end)) {
    try {
      for (const entry of entriesOf(frame)) {
        read.lastMs = Math.max(read.lastMs, replay(resident, entry) ?? 0)
        read.records++
        if (entry[0] === 'restart') read.restarts++
      }
    } catch (error) {
      const what = `what is there cannot be done once more: ${(error as Error).message}`
      return damaged(bytes, read, what)
    }
    read = { ...read, end: frame.end, lastFrame: bytes.subarray(frame.offset, frame.end) }
  }
  if (isZero(bytes, read.end)) return { ...read, isTorn: false }
  const isLastWrite = isZero(bytes, announcedEnd(bytes, read.end) ?? bytes.length)
  if (isLastWrite && !nextFrame(bytes, read.end + 1)) return { ...read, isTorn: true }
  return damaged(bytes, read, 'what is there is not what was written')
}

function damaged(bytes: Buffer, read: Omit<LogRead, 'isTorn' | 'damage'>, what: string): LogRead {
  const remaining = countFrom(bytes, read.end)
  return { ...read, isTorn: false, damage: { offset: read.end, record: read.records + 1, what, ...remaining } }
}

export interface Lost {
  /** Those of whole frames, and one for each that is damaged, as far as can be seen. */
  readonly lostRecords: number
  readonly lostBytes: number
}

/** What lies from a damaged place on. */
export function countFrom(bytes: Buffer, from: number): Lost {
  let end = bytes.length
  while (end > from && bytes[end - 1] === 0) end--
  let lostRecords = 0
  for (let at = from; at < end; ) {
    const frame = frameAt(bytes, at)
    lostRecords += frame ? entriesOf(frame).length : 1
    at = frame?.end ?? nextPlace(bytes, at) ?? end
  }
  return { lostRecords, lostBytes: end - from }
}

/** Where the next frame begins behind a damaged one. */
function nextPlace(bytes: Buffer, at: number): number | undefined {
  const end = announcedEnd(bytes, at)
  return end !== undefined && lengthIn(bytes, end) !== undefined ? end : nextFrame(bytes, at + 1)?.offset
}

function entriesOf({ payload }: Frame): readonly Entry[] {
  return JSON.parse(payload.toString())
}
