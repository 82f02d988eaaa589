import type { CheckReport } from '../kind.ts'
import { checkBackup, countsText } from './backup.ts'
import { checkFormat, isOfStore, locked, logName, writeFormat } from './directory.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { DamagedStore } from './errors.ts'
import { doubtOf, raised, writeReserved } from './fences.ts'
import { readStore } from './read-store.ts'

/** Reads a whole store that no process has open, or a whole backup. Changes nothing. */
export async function checkFileStore(path: string, disk: Disk = nodeDisk()): Promise<CheckReport> {
  try {
    return (await isFile(disk, path)) ? await checkFile(path, disk) : await checkDirectory(path, disk)
  } catch (error) {
    if (!(error instanceof DamagedStore)) throw error
    return { isSound: false, findings: [error.message] }
  }
}

async function isFile(disk: Disk, path: string): Promise<boolean> {
  const code = await disk.list(path).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  )
  return code === 'ENOTDIR'
}

async function checkFile(path: string, disk: Disk): Promise<CheckReport> {
  const contents = await checkBackup(path, disk).catch((cause) => {
    // It does not even begin like one.
    const isOther = cause instanceof DamagedStore && cause.offset === 0
    throw isOther ? new Error(`${path} is neither the directory of a store nor a backup`, { cause }) : cause
  })
  return { isSound: true, findings: [`${path} is a backup with ${contents}`] }
}

function checkDirectory(directory: string, disk: Disk): Promise<CheckReport> {
  return locked(disk, directory, async () => {
    await checkFormat(disk, directory, { mayBeNew: false })
    const read = await readStore({ disk, directory })
    read.resident.takeStock()
    const findings: string[] = []
    for (const { number, end } of read.logs.filter(({ isTorn }) => isTorn)) {
      findings.push(`${logName(number)} ends at byte ${end} in a write that was cut short; the next start cuts it off`)
    }
    const doubt = doubtOf(read)
    if (doubt) findings.push(`${doubt.why}; the next start grants no fence up to ${doubt.fenceFloor}`)
    const records = read.logs.reduce((sum, log) => sum + log.records, 0)
    findings.push(`${directory} has ${countsText(read.resident.counts())}; ${records} records are in its log`)
    return { isSound: !doubt?.isLoss, findings }
  })
}

/**
 * For a store that was restored by other means, and for one that was cleared: fences go on above those that were granted before.
 * An empty directory becomes a new store. Returns what was done, as a sentence.
 */
export async function raiseFences(
  directory: string,
  { by, disk = nodeDisk() }: { readonly by?: number | undefined; readonly disk?: Disk } = {},
): Promise<string> {
  const isEmpty = await disk.list(directory).then(
    (names) => !names.some(isOfStore),
    () => false,
  )
  if (isEmpty) return newStoreAbove(directory, { upTo: raised(0, { directory, by }), disk })
  return locked(disk, directory, async () => {
    await checkFormat(disk, directory, { mayBeNew: false })
    const { resident, reserved } = await readStore({ disk, directory })
    const highest = Math.max(resident.shards.highestFence(), reserved?.upTo ?? 0)
    const upTo = raised(highest, { directory, by })
    await writeReserved(disk, directory, { upTo })
    return `fences of ${directory} go on above ${upTo}, from the next start on; none above ${highest} was known of`
  })
}

async function newStoreAbove(
  directory: string,
  { upTo, disk }: { readonly upTo: number; readonly disk: Disk },
): Promise<string> {
  const release = await disk.lock(directory)
  try {
    await writeReserved(disk, directory, { upTo })
    await writeFormat(disk, directory)
    return `${directory} is a new, empty store; its fences begin above ${upTo}`
  } finally {
    await release()
  }
}
