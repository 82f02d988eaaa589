import { join } from 'node:path'
import { type Copied, copyStore, removeWhole } from './copy-store.ts'
import { isOfStore, readId, writeFormat, writeId } from './directory.ts'
import type { Disk } from './disk.ts'
import { countsOf } from './maintenance.ts'
import { nodeDisk } from './node-disk.ts'
import { writeReserved } from './reserved-fences.ts'

interface BackupOptions {
  /** Where there is nothing yet; or a directory with no store in it, which gets one by the time in it. */
  readonly to: string
  readonly nowMs: number
  readonly disk?: Disk
}

/**
 * Copies a store, which a server may have open, to a directory of its own that is a store like any other. Everything that was
 * acknowledged before is in it. Says what was copied. Where it throws, nothing of it is left.
 */
export async function backupFileStore(
  directory: string,
  { to, nowMs, disk = nodeDisk() }: BackupOptions,
): Promise<readonly string[]> {
  const place = await placeFor(disk, to, nowMs)
  if (!(await disk.makeDirectory(place))) throw new Error(`${place} is there already: name another with --to`)
  try {
    const copied = await copyStore({ disk, from: directory, to: place })
    const { reserved } = copied
    // It does not say where the logs were closed: they go on in the original.
    if (reserved) await writeReserved(disk, place, { upTo: reserved.upTo })
    const id = await readId(disk, directory)
    if (id !== undefined) await writeId(disk, place, id)
    // At last: what has no format is refused, so half a backup is never taken for a whole one.
    await writeFormat(disk, place, copied.format)
    return [`${directory} was copied to ${place}: ${contentsText(copied)}`]
  } catch (error) {
    await removeWhole(disk, place).catch(() => {})
    throw error
  }
}

/** What is in a copy, as a part of a sentence. */
export function contentsText(copied: Copied): string {
  const { lastMs } = copied
  const until = lastMs === 0 ? 'nothing was done in it yet' : `the last change is of ${new Date(lastMs).toISOString()}`
  return `${countsOf(copied)}; ${until}`
}

/** `20261117T162332Z` */
export function stampOf(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '')
}

async function placeFor(disk: Disk, to: string, nowMs: number): Promise<string> {
  const names = await disk.list(to).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Error(`${to} is no directory that could be used: ${error.message}`, { cause: error })
  })
  if (names === undefined) return to
  if (names.some(isOfStore)) throw new Error(`${to} has a store or a backup in it already: name another with --to`)
  return join(to, `baton-${stampOf(nowMs)}`)
}
