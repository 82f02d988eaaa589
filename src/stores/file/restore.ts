import { join, resolve } from 'node:path'
import { contentsText, stampOf } from './backup.ts'
import { type Copied, copyStore, refuseWithoutStore, removeWhole } from './copy-store.ts'
import { filesOfStore, isOfStore, isRestoring, readId, restoringName, writeFormat, writeId } from './directory.ts'
import type { Disk } from './disk.ts'
import { LOCK_PREFIX } from './lock.ts'
import { nodeDisk } from './node-disk.ts'
import { raisedFences } from './raise-fences.ts'
import { writeReserved } from './reserved-fences.ts'

interface RestoreOptions {
  /** A backup, or any other store. */
  readonly from: string
  readonly nowMs: number
  /** Puts aside what is there. */
  readonly force?: boolean | undefined
  /** It is to be a store beside the original, and not that one again: it gets an id of its own. */
  readonly asCopy?: boolean | undefined
  /** How far fences are raised above all that the backup knows of. */
  readonly by?: number | undefined
  readonly disk?: Disk
}

/**
 * Makes a store of a backup, in a directory that no process has open. No fence is given again that was given since the backup
 * was made, or since it was restored before. Says what was done. Nothing is touched before the backup has been read to its end;
 * and while its files are put in place, nobody takes the directory for a store.
 */
export async function restoreFileStore(directory: string, options: RestoreOptions): Promise<readonly string[]> {
  const { from, nowMs, disk = nodeDisk() } = options
  if (resolve(from) === resolve(directory)) throw new Error(`${from} is the store itself: name its backup with --from`)
  await refuseWithoutStore(disk, from).catch((cause: Error) => {
    throw new Error(`it cannot be restored: ${cause.message}`, { cause })
  })
  const isNew = await disk.makeDirectory(directory)
  const release = await disk.lock(directory)
  let isStaged = false
  try {
    const names = await namesIn(disk, directory)
    if (names.length > 0 && !options.force) throw notEmpty(directory, names)
    const staged = join(directory, restoringName(stampOf(nowMs)))
    const { copied, upTo } = await stage(disk, staged, { ...options, directory })
    const aside = join(directory, `replaced-${stampOf(nowMs)}`)
    const files = filesOfStore(names)
    isStaged = true
    try {
      if (files.length > 0) await putAside(disk, directory, { files, aside })
      await putInPlace(disk, directory, staged)
    } catch (cause) {
      const where = `${staged}${files.length > 0 ? `, what was there in ${aside}` : ''}`
      const what = `it could not be finished (${(cause as Error).message}); what was not moved yet is in ${where}`
      throw new Error(what, { cause })
    }
    return [
      ...(files.length === 0 ? [] : [`the store that was in ${directory} was put aside as ${aside}`]),
      `${from} was restored to ${directory}: ${contentsText(copied)}`,
      `fences go on above ${upTo}; what was granted, released or kept since then is not known there`,
      ...(options.asCopy ? ['it is a store of its own: its id is made at its first start'] : []),
    ]
  } finally {
    await release()
    if (isNew && !isStaged) await disk.removeDirectory(directory).catch(() => {})
  }
}

/** Of others than the lock; a file system of its own has a directory in which it puts what it has found. */
async function namesIn(disk: Disk, directory: string): Promise<string[]> {
  const names = await disk.list(directory)
  return names.filter((name) => !name.startsWith(LOCK_PREFIX) && name !== 'lost+found')
}

function notEmpty(directory: string, names: readonly string[]): Error {
  return new Error(
    names.some(isOfStore)
      ? `${directory} has a store in it: --force puts it aside, or name another directory`
      : `${directory} is not empty: name another directory, or say --force to restore beside what is there`,
  )
}

/** The whole store as it will be, where nobody looks for one. */
async function stage(
  disk: Disk,
  staged: string,
  { from, directory, nowMs, asCopy, by }: RestoreOptions & { readonly directory: string },
): Promise<{ readonly copied: Copied; readonly upTo: number }> {
  if (!(await disk.makeDirectory(staged))) throw new Error(`${staged} is there already: remove it, or try again`)
  try {
    const copied = await copyStore({ disk, from, to: staged })
    const upTo = Math.max(raisedFences(copied, { directory, by }).upTo, fencesAt(nowMs))
    await writeReserved(disk, staged, { upTo })
    const id = asCopy ? undefined : await readId(disk, from)
    if (id !== undefined) await writeId(disk, staged, id)
    await writeFormat(disk, staged)
    return { copied, upTo }
  } catch (error) {
    await removeWhole(disk, staged).catch(() => {})
    throw error
  }
}

/** More than one resource is ever granted in a millisecond. */
const FENCES_A_MS = 128
const EPOCH_MS = Date.UTC(2025, 0, 1)

/**
 * Two restores of one backup know of the same fences: by what they are raised above those, the second would give again what the
 * first has given. So they go by the clock as well, and above all that can have been granted until now.
 */
function fencesAt(nowMs: number): number {
  return Math.max(0, nowMs - EPOCH_MS) * FENCES_A_MS
}

/** Its format first. */
async function putAside(
  disk: Disk,
  directory: string,
  { files, aside }: { readonly files: readonly string[]; readonly aside: string },
): Promise<void> {
  if (!(await disk.makeDirectory(aside))) throw new Error(`${aside} is there already`)
  for (const name of files) await disk.rename(join(directory, name), join(aside, name))
  await disk.syncDirectory(aside)
  await disk.syncDirectory(directory)
}

/** The format last, and then what made sure that nobody began a new store meanwhile. */
async function putInPlace(disk: Disk, directory: string, staged: string): Promise<void> {
  const [format, ...files] = filesOfStore(await disk.list(staged))
  for (const name of files) await disk.rename(join(staged, name), join(directory, name))
  await disk.syncDirectory(directory)
  await disk.rename(join(staged, format!), join(directory, format!))
  await disk.syncDirectory(directory)
  for (const name of (await disk.list(directory)).filter(isRestoring)) await removeWhole(disk, join(directory, name))
}
