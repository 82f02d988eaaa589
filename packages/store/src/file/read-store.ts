import { join } from 'node:path'
import { defaultPolicy } from '@baton-lock/core'
import { Resident } from '../resident/resident.ts'
import { type Contents, contentsOf, FENCES_FILE, logName, snapshotName } from './directory.ts'
import { type Disk, readAll } from './disk.ts'
import { type Entry, replay, type StoredPolicy } from './entry.ts'
import { DamagedStore } from './errors.ts'
import { type ReservedFences, readReserved } from './fences.ts'
import type { LogEnd } from './log.ts'
import { announcedEnd, type Frame, frameAt, isZero, nextFrame } from './log-record.ts'
import { readSnapshot } from './snapshot.ts'

/** A log as it was found. */
interface LogRead extends LogEnd {
  readonly number: number
  readonly records: number
  readonly restarts: number
  /** The latest time in it. */
  readonly lastMs: number
  /** A crash has cut its last write short: what follows the last whole frame is to be cut off. */
  readonly isTorn: boolean
}

export interface StoreRead {
  readonly resident: Resident
  /** `undefined` in a new directory. */
  readonly reserved: ReservedFences | undefined
  /** The latest time in snapshot and logs. */
  readonly lastMs: number
  /** Those since the snapshot, in order. The last one is continued. None in a new directory. */
  readonly logs: readonly LogRead[]
  readonly snapshotSize: number
  readonly contents: Contents
}

interface ReadOptions {
  readonly disk: Disk
  readonly directory: string
  readonly liveLimit?: number | undefined
}

/** The state as the disk has it: the newest snapshot, and all that was done since. Changes nothing on the disk. */
export async function readStore({ disk, directory, liveLimit }: ReadOptions): Promise<StoreRead> {
  const contents = await contentsOf(disk, directory)
  const policy: StoredPolicy = { version: 0, policy: defaultPolicy, configured: defaultPolicy }
  const resident = new Resident({ policy, liveLimit })
  const place = { disk, directory, contents, resident }
  const snapshot = await readNewestSnapshot(place)
  const logs = await readLogs(place)
  return {
    resident,
    reserved: contents.hasFences ? await reservedIn(disk, directory) : undefined,
    lastMs: Math.max(snapshot.lastMs, ...logs.map(({ lastMs }) => lastMs)),
    contents,
    logs,
    snapshotSize: snapshot.size,
  }
}

interface Place {
  readonly disk: Disk
  readonly directory: string
  readonly contents: Contents
  readonly resident: Resident
}

async function readNewestSnapshot({ disk, directory, contents, resident }: Place) {
  const number = contents.snapshots.at(-1)
  if (number === undefined) return { size: 0, lastMs: 0 }
  const name = snapshotName(number)
  const file = await disk.open(join(directory, name), 'read')
  try {
    const { header, size } = await readSnapshot({ file, directory, name }, resident)
    return { size, lastMs: header.nowMs }
  } finally {
    await file.close()
  }
}

async function reservedIn(disk: Disk, directory: string): Promise<ReservedFences> {
  const reserved = await readReserved(disk, directory)
  if (reserved) return reserved
  throw new DamagedStore({ directory, file: FENCES_FILE, what: 'the content does not match its checksum' })
}

async function readLogs({ disk, directory, contents, resident }: Place): Promise<readonly LogRead[]> {
  const { snapshots, logs: present } = contents
  const first = snapshots.at(-1) ?? 0
  const last = present.at(-1) ?? -1
  const logs: LogRead[] = []
  for (let number = first; number <= Math.max(last, snapshots.length > 0 ? first : -1); number++) {
    const file = logName(number)
    if (!present.includes(number)) throw new DamagedStore({ directory, file, what: 'it is missing' })
    const bytes = await bytesOf(disk, join(directory, file))
    const torn = logs.find(({ isTorn }) => isTorn)
    if (torn && nextFrame(bytes, 0)) {
      const where = { file: logName(torn.number), offset: torn.end, record: torn.records + 1 }
      throw new DamagedStore({ directory, ...where, what: 'it ends before the next one begins' })
    }
    logs.push(readLog(bytes, resident, { directory, number }))
  }
  return logs
}

/**
 * Replays a log. Every write waits for the one before, so only the last one can have been cut short. A whole frame behind a bad
 * one, or anything behind the end that a bad one announces, is damage.
 */
function readLog(
  bytes: Buffer,
  resident: Resident,
  { directory, number }: { readonly directory: string; readonly number: number },
): LogRead {
  let [end, records, restarts, lastMs] = [0, 0, 0, 0]
  let lastFrame = bytes.subarray(0, 0)
  const damaged = (what: string) =>
    new DamagedStore({ directory, file: logName(number), offset: end, record: records + 1, what })
  for (let frame = frameAt(bytes, 0); frame; frame = frameAt(bytes, frame.end)) {
    try {
      for (const entry of entriesOf(frame)) {
        lastMs = Math.max(lastMs, replay(resident, entry) ?? 0)
        records++
        if (entry[0] === 'restart') restarts++
      }
    } catch (error) {
      throw damaged(`it cannot be replayed: ${(error as Error).message}`)
    }
    end = frame.end
    lastFrame = bytes.subarray(frame.offset, frame.end)
  }
  const isTorn = !isZero(bytes, end)
  const isLastWrite = isZero(bytes, announcedEnd(bytes, end) ?? bytes.length)
  if (isTorn && (!isLastWrite || nextFrame(bytes, end + 1))) throw damaged('the content does not match its checksum')
  return { number, end, lastFrame, records, restarts, lastMs, isTorn }
}

function entriesOf({ payload }: Frame): readonly Entry[] {
  return JSON.parse(payload.toString())
}

async function bytesOf(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, 'read')
  try {
    return await readAll(file)
  } finally {
    await file.close()
  }
}
