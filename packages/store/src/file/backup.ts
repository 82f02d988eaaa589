import { basename, dirname } from 'node:path'
import type { Resident } from '../resident/resident.ts'
import { checkFormat, locked, readId, unfinished } from './directory.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { type StoredPolicy, saidOf } from './entry.ts'
import { DirectoryInUse } from './errors.ts'
import { readStore } from './read-store.ts'
import { readSnapshot, type SnapshotEnd, type SnapshotRead, SnapshotWriter } from './snapshot.ts'

/*
 * A backup is a snapshot: one file. The server that has the store open writes one for itself and sends a copy
 * (`FileStore.backup`); without a server it is written here.
 */

interface BackupOptions {
  /** A file that does not exist yet. */
  readonly to: string
  readonly disk?: Disk
}

/** Writes a backup of a store that no process has open. Returns what is in it, as a sentence. */
export async function backupFileStore(directory: string, { to, disk = nodeDisk() }: BackupOptions): Promise<string> {
  await refuseExisting(disk, to)
  await locked(disk, directory, async () => {
    await checkFormat(disk, directory, { mayBeNew: false })
    const { resident, lastMs } = await readStore({ disk, directory })
    resident.takeStock()
    const header = {
      id: await readId(disk, directory),
      nowMs: lastMs,
      policy: saidOf(resident.policy as StoredPolicy),
    }
    const pause = async () => {}
    await new SnapshotWriter({ disk, path: to, resident, header, pause }).write(Promise.resolve())
  }).catch((cause) => {
    if (!(cause instanceof DirectoryInUse)) throw cause
    throw new Error(`${cause.message}; while a server has it open, name that with --server`, { cause })
  })
  return `${directory} was written to ${to}: ${await checkBackup(to, disk)}`
}

/** Writes the backup that a server sends, and checks it before it gets its name. Returns what is in it, as a sentence. */
export async function saveBackup(
  chunks: AsyncIterable<Uint8Array>,
  { to, disk = nodeDisk() }: BackupOptions,
): Promise<string> {
  await refuseExisting(disk, to)
  const path = unfinished(to)
  try {
    const file = await disk.open(path, 'create')
    try {
      let position = 0
      for await (const chunk of chunks) {
        await file.write(chunk, position)
        position += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    const contents = await checkBackup(path, disk)
    await disk.rename(path, to)
    await disk.syncDirectory(dirname(to))
    return `the store was written to ${to}: ${contents}`
  } catch (error) {
    await disk.remove(path).catch(() => {})
    throw error
  }
}

/** Reads a backup to its end. Returns what is in it, as a part of a sentence; throws if it is damaged. */
export async function checkBackup(path: string, disk: Disk = nodeDisk()): Promise<string> {
  return contentsText(await readBackup(path, disk))
}

/** Into an empty resident; without one it is only checked. */
export async function readBackup(path: string, disk: Disk, resident?: Resident): Promise<SnapshotRead> {
  const file = await disk.open(path, 'read')
  try {
    const [directory, name] = [dirname(path), basename(path)]
    return await readSnapshot({ file, directory, name, remedy: 'use another backup' }, resident)
  } finally {
    await file.close()
  }
}

export function contentsText({ header, end }: SnapshotRead): string {
  const { nowMs } = header
  const until = nowMs === 0 ? 'nothing was done in it yet' : `the last change is of ${new Date(nowMs).toISOString()}`
  return `${countsText(end)}; ${until}`
}

export function countsText({ resources, grants, waiters, sessions }: SnapshotEnd): string {
  return `${resources} resources, ${grants} grants, ${waiters} waiters and ${sessions} sessions`
}

async function refuseExisting(disk: Disk, path: string): Promise<void> {
  const names = await disk.list(dirname(path)).catch((cause: Error) => {
    throw new Error(`${dirname(path)} is no directory that can be used: ${cause.message}`, { cause })
  })
  if (names.includes(basename(path))) throw new Error(`${path} is there already: name another file`)
}
