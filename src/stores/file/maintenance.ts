import { join } from 'node:path'
import type { CheckReport } from '../kind.ts'
import type { Resident } from '../resident/resident.ts'
import { checkFormat, isOfStore, logName, snapshotName, writeFormat } from './directory.ts'
import type { Disk } from './disk.ts'
import { doubtOf } from './doubt.ts'
import type { StoredPolicy } from './entry.ts'
import { DamagedStore } from './errors.ts'
import { Log } from './log.ts'
import { nodeDisk } from './node-disk.ts'
import { type Loss, readStore, type StoreRead } from './read-store.ts'
import { type ReservedFences, writeReserved } from './reserved-fences.ts'
import { removeBefore } from './running.ts'
import { SnapshotWriter } from './snapshot-writer.ts'

/** Reads everything in a store that nobody has open, and says how it is. Changes nothing. */
export async function checkFileStore(directory: string, disk: Disk = nodeDisk()): Promise<CheckReport> {
  return locked(disk, directory, async () => {
    const { read, losses, findings } = await readLosses(disk, directory)
    for (const loss of losses) findings.push(`${damageOf(loss)}; what is before it is good, ${lossOf(loss)}`)
    for (const { number, end } of read.logs.filter(({ isTorn }) => isTorn)) {
      findings.push(`${logName(number)} ends at byte ${end} in a write that was cut short; the next start cuts it off`)
    }
    const doubt = losses.length === 0 ? doubtOf(read) : undefined
    if (doubt) findings.push(`${doubt.why}; the next start grants no fence up to ${doubt.fenceFloor}`)
    findings.push(`${directory} has ${countsOf(read)}; ${read.records} records are in its log`)
    return { isSound: losses.length === 0, findings }
  })
}

/**
 * Makes a damaged store one that can be opened: keeps what is before the damage, says what is lost, and puts the damaged
 * files aside. Fences go on above everything that may have been granted in what is lost.
 */
export async function repairFileStore(directory: string, disk: Disk = nodeDisk()): Promise<CheckReport> {
  return locked(disk, directory, async () => {
    const { read, losses, findings } = await readLosses(disk, directory)
    if (losses.length === 0) return { isSound: true, findings: [`${directory} is in order: nothing was changed`] }
    const { contents, resident } = read
    const number = Math.max(0, ...contents.logs, ...contents.snapshots) + 1
    const upTo = raiseFences(resident, losses, read.reserved)
    await writeReserved(disk, directory, { upTo })
    const log = await Log.create(disk, { number, path: join(directory, logName(number)) })
    await log.trim()
    const header = { nowMs: read.lastMs, policy: resident.policy as StoredPolicy }
    const pause = async () => {}
    await new SnapshotWriter({ disk, directory, number, resident, header, pause }).write(Promise.resolve())
    await writeFormat(disk, directory)
    for (const loss of losses) findings.push(`${damageOf(loss)}: ${lossOf(loss)}`)
    for (const name of filesOf(read, losses)) {
      await disk.rename(join(directory, name), join(directory, `${name}.damaged`))
      findings.push(`${name} was put aside as ${name}.damaged`)
    }
    await removeBefore(number, { disk, directory })
    await disk.syncDirectory(directory)
    findings.push(`${directory} can be used again, with ${countsOf(read)}`)
    return { isSound: true, findings }
  })
}

async function readLosses(disk: Disk, directory: string) {
  const losses: Loss[] = []
  await checkFormat(disk, directory, { mayBeNew: false }).catch((error) => {
    if (!(error instanceof DamagedStore)) throw error
    losses.push({ file: error.file, what: 'it is missing or not readable' })
  })
  const read = await readStore({ disk, directory, onLoss: (loss) => losses.push(loss) })
  if (losses.length === 0) losses.push(...lostSinceClose(read))
  read.resident.takeStock()
  return { read, losses, findings: [] as string[] }
}

/** A log that ends before where it was closed, though nothing in it is damaged. */
function lostSinceClose({ reserved, logs }: StoreRead): Loss[] {
  return (reserved?.closedAt ?? []).flatMap(([number, closedAt]) => {
    const end = logs.find((log) => log.number === number)?.end ?? 0
    if (end >= closedAt) return []
    const what = `it ended at byte ${closedAt} when the store was closed`
    return [{ file: logName(number), offset: end, what, lostBytes: closedAt - end }]
  })
}

export async function locked<Result>(disk: Disk, directory: string, run: () => Promise<Result>): Promise<Result> {
  const names = await disk.list(directory).catch((): string[] => [])
  if (!names.some(isOfStore)) throw new Error(`${directory} has no store in it`)
  const release = await disk.lock(directory)
  try {
    return await run()
  } finally {
    await release()
  }
}

/** A grant takes more than a byte of log, so the bytes that are lost bound the fences that are. Returns the new floor. */
function raiseFences({ shards }: Resident, losses: readonly Loss[], reserved: ReservedFences | undefined): number {
  let highest = Math.max(shards.highestFence(), reserved?.upTo ?? 0)
  for (const { lostBytes = 2 ** 32 } of losses) highest += lostBytes
  shards.raiseAllFenceFloors(highest)
  return highest
}

/** The damaged files themselves, and the logs behind them, which go on from what is lost. */
function filesOf({ contents, logs }: StoreRead, losses: readonly Loss[]): string[] {
  const present = [...contents.logs.map(logName), ...contents.snapshots.map(snapshotName)]
  const damaged = losses.map(({ file }) => file).filter((file) => present.includes(file))
  const isLogDamaged = losses.some(({ file }) => file.startsWith('log-'))
  const behind = isLogDamaged ? contents.logs.filter((number) => number > (logs.at(-1)?.number ?? -1)).map(logName) : []
  return [...new Set([...damaged, ...behind])]
}

function damageOf({ file, offset, record, what }: Loss): string {
  const where = offset === undefined ? '' : ` at byte ${offset}${record === undefined ? '' : `, record ${record}`}`
  return `${file} is damaged${where}: ${what}`
}

function lossOf({ lostRecords, lostBytes }: Loss): string {
  if (lostRecords === undefined) return 'what was there is lost'
  return `at least ${lostRecords} records (${lostBytes} bytes) from there on are lost`
}

export function countsOf({ resident }: Pick<StoreRead, 'resident'>): string {
  const { resources, grants, waiters, sessions } = resident.counts()
  return `${resources} resources, ${grants} grants, ${waiters} waiters and ${sessions} sessions`
}
