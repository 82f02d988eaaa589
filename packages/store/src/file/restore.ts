import { join, resolve } from 'node:path'
import { defaultPolicy } from '@baton-lock/core'
import { Resident } from '../resident/resident.ts'
import { contentsText, readBackup } from './backup.ts'
import {
  filesOfStore,
  isOfStore,
  logName,
  RESTORING_FILE,
  snapshotName,
  unfinished,
  writeFormat,
  writeId,
  writeWhole,
} from './directory.ts'
import { LOCK_PREFIX } from './directory-lock.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { raised, writeReserved } from './fences.ts'
import { Log } from './log.ts'

interface RestoreOptions {
  /** A backup. */
  readonly from: string
  readonly nowMs: number
  /** Moves the files that are there to a directory `replaced-…`. */
  readonly force?: boolean | undefined
  /** The store is to run beside the original: it gets an id of its own. */
  readonly asCopy?: boolean | undefined
  /** How far fences are raised above all that the backup knows of. */
  readonly by?: number | undefined
  readonly disk?: Disk
}

/**
 * Makes a store of a backup, in a directory that no process has open. No fence is granted again that was granted since the backup
 * was made, or since it was restored before. Nothing is touched before the whole backup was read. After a crash there is the old
 * store, the restored one, or a directory that is refused until the restore is run again. Returns what was done, as sentences.
 */
export async function restoreFileStore(directory: string, options: RestoreOptions): Promise<readonly string[]> {
  const { from, nowMs, by, asCopy = false, disk = nodeDisk() } = options
  const resident = new Resident({ policy: { version: 0, policy: defaultPolicy } })
  const backup = await readBackup(from, disk, resident).catch((cause: Error) => {
    throw new Error(`${from} cannot be restored: ${cause.message}`, { cause })
  })
  const upTo = Math.max(raised(resident.shards.highestFence(), { directory, by }), fencesAt(nowMs))
  const isNew = await disk.makeDirectory(directory)
  const release = await disk.lock(directory)
  try {
    const names = await namesIn(disk, directory)
    if (names.length > 0 && !options.force) throw notEmpty(directory, names)
    const id = asCopy ? undefined : backup.header.id
    const aside = join(directory, `replaced-${stampOf(nowMs)}`)
    const files = filesOfStore(names)
    try {
      await writeWhole(disk, directory, { name: RESTORING_FILE, bytes: Buffer.from(`${resolve(from)}\n`) })
      if (files.length > 0) await moveAside(disk, directory, { files, aside })
      await fill(disk, directory, { from, upTo, id })
    } catch (cause) {
      const where = files.length > 0 ? `; what was there is in ${aside}` : ''
      throw new Error(`it could not be finished (${(cause as Error).message})${where}`, { cause })
    }
    return [
      ...(files.length === 0 ? [] : [`the store that was in ${directory} was moved to ${aside}`]),
      `${from} was restored to ${directory}: ${contentsText(backup)}`,
      `fences go on above ${upTo}; what was granted, released or kept since then is not known there`,
      ...(asCopy ? ['it is a store of its own: its first start makes its id'] : []),
    ]
  } finally {
    await release()
    // Only if nothing was written to it.
    if (isNew) await disk.removeDirectory(directory).catch(() => {})
  }
}

/** Without those of the lock. A file system of its own has a directory for what it has found. */
async function namesIn(disk: Disk, directory: string): Promise<string[]> {
  const names = await disk.list(directory)
  return names.filter((name) => !name.startsWith(LOCK_PREFIX) && name !== 'lost+found')
}

function notEmpty(directory: string, names: readonly string[]): Error {
  return new Error(
    names.some(isOfStore)
      ? `${directory} has a store in it: --force moves it aside, or name another directory`
      : `${directory} is not empty: name another directory, or say --force to restore beside what is there`,
  )
}

/** `20261117T162332Z` */
function stampOf(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
}

/** One resource is never granted more often in a millisecond. */
const FENCES_A_MS = 128
const EPOCH_MS = Date.UTC(2025, 0, 1)

/**
 * Two restores of one backup know of the same fences. Raised by the same distance, the second store would grant again what the
 * first has granted. So fences also go on above all that can have been granted until now.
 */
function fencesAt(nowMs: number): number {
  return Math.max(0, nowMs - EPOCH_MS) * FENCES_A_MS
}

async function moveAside(
  disk: Disk,
  directory: string,
  { files, aside }: { readonly files: readonly string[]; readonly aside: string },
): Promise<void> {
  if (!(await disk.makeDirectory(aside))) throw new Error(`${aside} is there already`)
  for (const name of files) await disk.rename(join(directory, name), join(aside, name))
  await disk.syncDirectory(aside)
  await disk.syncDirectory(directory)
}

interface Filling {
  readonly from: string
  readonly upTo: number
  readonly id: string | undefined
}

async function fill(disk: Disk, directory: string, { from, upTo, id }: Filling): Promise<void> {
  const number = 1
  await copy(disk, from, join(directory, snapshotName(number)))
  const log = await Log.create(disk, { number, path: join(directory, logName(number)) })
  await log.trim()
  await writeReserved(disk, directory, { upTo })
  if (id !== undefined) await writeId(disk, directory, id)
  await writeFormat(disk, directory)
  await disk.remove(join(directory, RESTORING_FILE))
  await disk.syncDirectory(directory)
}

const CHUNK = 1024 * 1024

/** `to` is synced; its name is not. */
async function copy(disk: Disk, from: string, to: string): Promise<void> {
  const source = await disk.open(from, 'read')
  try {
    const target = await disk.open(unfinished(to), 'create')
    try {
      const chunk = Buffer.allocUnsafe(CHUNK)
      for (let position = 0; ; ) {
        const length = await source.read(chunk, position)
        if (length === 0) break
        await target.write(chunk.subarray(0, length), position)
        position += length
      }
      await target.sync()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
  await disk.rename(unfinished(to), to)
}
