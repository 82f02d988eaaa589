import { join } from 'node:path'
import { defaultPolicy } from '../../core/index.ts'
import { Resident } from '../resident/resident.ts'
import { resourceFromText, resourceToText } from '../resident/resource-text.ts'
import type { Dormancy } from '../resident/shards.ts'
import { type Contents, contentsOf, FENCES_FILE, logName, snapshotName } from './directory.ts'
import { type Disk, readAll } from './disk.ts'
import { FIRST_EDITION, type StoredPolicy } from './entry.ts'
import { type Damage, DamagedStore } from './errors.ts'
import { nextFrame } from './frame.ts'
import { countFrom, type LogRead, type Lost, readLog } from './log-reader.ts'
import { type ReservedFences, readReserved } from './reserved-fences.ts'
import { readSnapshot } from './snapshot-reader.ts'

export interface StoreRead {
  readonly resident: Resident
  /** Nothing in a new directory and in one of an older version. */
  readonly reserved: ReservedFences | undefined
  /** The latest time that anything speaks of. */
  readonly lastMs: number
  /** Those since the snapshot, in order; the last one is the one to go on with. None in a new directory. */
  readonly logs: readonly (LogRead & { readonly number: number })[]
  readonly snapshotSize: number
  readonly records: number
  readonly restarts: number
  readonly contents: Contents
}

/** Without the numbers nobody knows how much it is. */
export type Loss = Damage & Partial<Lost>

interface ReadOptions {
  readonly disk: Disk
  readonly directory: string
  /** Told of damage, to go on with what is good. Without it, damage is thrown. */
  readonly onLoss?: (loss: Loss) => void
  readonly liveLimit?: number
}

const LIVE_LIMIT = 4_096

/** The state as the disk has it: the newest snapshot, and everything that was done since. Changes nothing there. */
export async function readStore(options: ReadOptions): Promise<StoreRead> {
  const { disk, directory, liveLimit = LIVE_LIMIT } = options
  const onLoss = (loss: Loss) => {
    if (!options.onLoss) throw new DamagedStore({ directory, ...loss })
    options.onLoss(loss)
  }
  const contents = await contentsOf(disk, directory)
  const resident = newResident(liveLimit)
  resident.edition = FIRST_EDITION
  const base = contents.snapshots.at(-1)
  let lastMs = 0
  let snapshotSize = 0
  if (base !== undefined) {
    const read = await readSnapshotFile({ disk, directory, base, resident, onLoss })
    lastMs = read.header?.nowMs ?? 0
    snapshotSize = read.size
  }
  const logs = await readLogs({ disk, directory, contents, resident, onLoss })
  for (const log of logs) lastMs = Math.max(lastMs, log.lastMs)
  const reserved = contents.hasFences ? await readReserved(disk, directory) : undefined
  if (contents.hasFences && !reserved) onLoss({ file: FENCES_FILE, what: 'what is there is not what was written' })
  return {
    resident,
    reserved,
    lastMs,
    contents,
    logs,
    snapshotSize,
    records: logs.reduce((sum, log) => sum + log.records, 0),
    restarts: logs.reduce((sum, log) => sum + log.restarts, 0),
  }
}

function newResident(liveLimit: number): Resident {
  const dormancy: Dormancy = {
    liveLimit,
    toText: resourceToText,
    fromText: resourceFromText,
  }
  const policy: StoredPolicy = { version: 0, policy: defaultPolicy, configured: defaultPolicy }
  return new Resident({ policy, dormancy })
}

type Parts = { disk: Disk; directory: string; resident: Resident; onLoss: (loss: Loss) => void }

async function readSnapshotFile({ disk, directory, base, resident, onLoss }: Parts & { base: number }) {
  const file = await disk.open(join(directory, snapshotName(base)), 'read')
  try {
    return await readSnapshot(file, resident, (damage) => onLoss({ file: snapshotName(base), ...damage }))
  } finally {
    await file.close()
  }
}

async function readLogs({
  disk,
  directory,
  contents,
  resident,
  onLoss,
}: Parts & { contents: Contents }): Promise<(LogRead & { number: number })[]> {
  const base = contents.snapshots.at(-1) ?? 0
  const last = contents.logs.at(-1) ?? -1
  if (contents.snapshots.length > 0 && last < base) onLoss({ file: logName(base), what: 'it is missing' })
  const logs: (LogRead & { number: number })[] = []
  for (let number = base; number <= last; number++) {
    if (!contents.logs.includes(number)) {
      onLoss({ file: logName(number), what: 'it is missing' })
      break
    }
    const bytes = await bytesOf(disk, join(directory, logName(number)))
    const torn = logs.find(({ isTorn }) => isTorn)
    let loss: (Damage & Lost) | undefined
    if (torn && nextFrame(bytes, 0)) {
      const what = 'it ends before the next one begins'
      const place = { file: logName(torn.number), offset: torn.end, record: torn.records + 1, what }
      loss = { ...place, ...countFrom(bytes, 0) }
    } else {
      const read = readLog(bytes, resident)
      logs.push({ number, ...read })
      loss = read.damage && { file: logName(number), ...read.damage }
    }
    if (!loss) continue
    for (const behind of contents.logs.filter((each) => each > number)) {
      const { lostRecords, lostBytes } = countFrom(await bytesOf(disk, join(directory, logName(behind))), 0)
      loss = { ...loss, lostRecords: loss.lostRecords + lostRecords, lostBytes: loss.lostBytes + lostBytes }
    }
    onLoss(loss)
    break
  }
  return logs
}

async function bytesOf(disk: Disk, path: string): Promise<Buffer> {
  const file = await disk.open(path, 'read')
  try {
    return await readAll(file)
  } finally {
    await file.close()
  }
}
