import type { Resident } from '../resident.ts'
import { type Entry, replay } from './entry.ts'
import type { Damage } from './errors.ts'
import { type Frame, frameAt, isZero, nextFrame } from './frame.ts'
import type { LogEnd } from './log.ts'

export interface LogRead extends LogEnd {
  readonly records: number
  readonly restarts: number
  /** The latest time in it. */
  readonly lastMs: number
  /** There is something behind the last good frame that is no whole one: a write that a crash has cut short. */
  readonly isTorn: boolean
  readonly damage?: Omit<Damage, 'file'> & { readonly lostRecords: number; readonly lostBytes: number }
}

/**
 * Plays a log once more, up to the end or to the first thing that is not what was written. Only the last write can have
 * been cut short, as every one waits for the one before; so a whole frame behind a bad one means damage.
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
  if (nextFrame(bytes, read.end + 1)) return damaged(bytes, read, 'what is there is not what was written')
  return { ...read, isTorn: true }
}

function damaged(bytes: Buffer, read: Omit<LogRead, 'isTorn' | 'damage'>, what: string): LogRead {
  const rest = countFrom(bytes, read.end)
  return { ...read, isTorn: false, damage: { offset: read.end, record: read.records + 1, what, ...rest } }
}

/** What lies behind a damaged place: the records of whole frames, and at least one of what is damaged. */
export function countFrom(bytes: Buffer, from: number): { lostRecords: number; lostBytes: number } {
  let lostRecords = 0
  let end = from
  for (let frame = nextFrame(bytes, from); frame; frame = nextFrame(bytes, frame.end)) {
    if (frame.offset > end) lostRecords++
    lostRecords += entriesOf(frame).length
    end = frame.end
  }
  return { lostRecords, lostBytes: end - from }
}

function entriesOf({ payload }: Frame): readonly Entry[] {
  return JSON.parse(payload.toString())
}
