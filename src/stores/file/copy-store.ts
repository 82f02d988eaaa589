import { join } from 'node:path'
import {
  type Contents,
  checkFormat,
  contentsOf,
  FENCES_FILE,
  isOfStore,
  logName,
  readFormat,
  snapshotName,
} from './directory.ts'
import { type Disk, type DiskFile, readAll } from './disk.ts'
import { DamagedStore } from './errors.ts'
import { type Loss, readStore, type StoreRead } from './read-store.ts'
import { type ReservedFences, readReserved } from './reserved-fences.ts'

interface CopyOptions {
  readonly disk: Disk
  readonly from: string
  /** There, and empty. */
  readonly to: string
}

/** What was copied, as it can be read from the copy. Fences, id and format are left to whoever makes something of it. */
export interface Copied extends StoreRead {
  /** Of the original: at least those that are in the copy. Nothing where its version had none. */
  readonly reserved: ReservedFences | undefined
  readonly format: number
}

/** A turnover of the log that comes between is over in moments: it does not come so often in a row. */
const LISTINGS = 100
const COPIES = 10
const CHUNK = 1024 * 1024

/**
 * Copies snapshot and logs of a store, also of one that a process has open and writes to. Everything that was acknowledged
 * before this began is in the copy, and nothing without what came before it:
 *
 * - All files are open before the first is copied, and one that is open can be read though a turnover removes it.
 * - Nothing is written to a log before all that belongs into the one before it. So the last one is copied first.
 * - What is written meanwhile may be seen in part. The copy ends before it; where whole records are behind it, or the disk
 *   has failed and the process has taken back what it wrote, everything is copied again.
 *
 * The copy is durable and has been read from its beginning to its end. Where it throws, `to` is empty.
 */
export async function copyStore(options: CopyOptions): Promise<Copied> {
  const { disk, from, to } = options
  await refuseWithoutStore(disk, from)
  let before = ''
  for (let tries = 1; ; tries++) {
    const { copied, loss } = await attempt(options).catch(async (error) => {
      await removeAll(disk, to).catch(() => {})
      throw error
    })
    if (copied) return copied
    await removeAll(disk, to)
    // What is there twice is no write that was under way.
    const place = JSON.stringify(loss)
    if (place === before || tries === COPIES) throw new DamagedStore({ directory: from, ...loss })
    before = place
  }
}

async function removeAll(disk: Disk, directory: string): Promise<void> {
  for (const name of await disk.list(directory)) await disk.remove(join(directory, name))
}

/** A directory of files, with all of them. */
export async function removeWhole(disk: Disk, directory: string): Promise<void> {
  await removeAll(disk, directory)
  await disk.removeDirectory(directory)
}

export async function refuseWithoutStore(disk: Disk, directory: string): Promise<void> {
  const names = await disk.list(directory).catch((): string[] => [])
  if (!names.some(isOfStore)) throw new Error(`${directory} has no store in it`)
  await checkFormat(disk, directory, { mayBeNew: false })
}

type Attempt =
  | { readonly copied: Copied; readonly loss?: undefined }
  | { readonly copied?: undefined; readonly loss: Loss }

async function attempt({ disk, from, to }: CopyOptions): Promise<Attempt> {
  const before = await readFormat(disk, from)
  const files = await openAll(disk, from)
  try {
    for (const { name, file } of files.toReversed()) {
      const isWhole = name.startsWith('log-')
        ? await copyLog(disk, { file, path: join(to, name) })
        : await copyFile(disk, { file, path: join(to, name) })
      if (!isWhole) return { loss: { file: name, what: 'what was read has been written over' } }
    }
  } finally {
    for (const { file } of files) await file.close()
  }
  // After the logs: no fence is in them that is not covered.
  const hasFences = (await disk.list(from)).includes(FENCES_FILE)
  const reserved = hasFences ? await readReserved(disk, from) : undefined
  if (hasFences && !reserved) return { loss: { file: FENCES_FILE, what: 'what is there is not what was written' } }
  await checkFormat(disk, from, { mayBeNew: false })
  const format = await readFormat(disk, from)
  if (format !== before) return { loss: { file: 'format', what: 'it is being changed by another process' } }
  const losses: Loss[] = []
  const read = await readStore({ disk, directory: to, onLoss: (loss) => losses.push(loss) })
  if (losses[0]) return { loss: losses[0] }
  await cutTails(disk, to, read)
  await disk.syncDirectory(to)
  read.resident.takeStock()
  return { copied: { ...read, reserved, format } }
}

interface OpenFile {
  readonly name: string
  readonly file: DiskFile
}

/** The newest snapshot, and the logs since, oldest first. */
async function openAll(disk: Disk, directory: string): Promise<readonly OpenFile[]> {
  for (let tries = 1; ; tries++) {
    const { names, missing } = filesOf(await contentsOf(disk, directory))
    const opened: OpenFile[] = []
    const lost = missing ?? (await openEach(disk, directory, { names, opened }))
    if (lost === undefined) return opened
    for (const { file } of opened) await file.close()
    if (tries === LISTINGS) throw new DamagedStore({ directory, file: lost, what: 'it is missing' })
  }
}

/** Says which one is not there any more. */
async function openEach(
  disk: Disk,
  directory: string,
  { names, opened }: { readonly names: readonly string[]; readonly opened: OpenFile[] },
): Promise<string | undefined> {
  for (const name of names) {
    try {
      opened.push({ name, file: await disk.open(join(directory, name), 'read') })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return name
      for (const { file } of opened) await file.close()
      throw error
    }
  }
  return undefined
}

/** A list that was made during a turnover may lack something. */
function filesOf({ snapshots, logs }: Contents): { readonly names: readonly string[]; readonly missing?: string } {
  const base = snapshots.at(-1)
  const first = base ?? 0
  const last = logs.at(-1) ?? (base === undefined ? -1 : first)
  const names = base === undefined ? [] : [snapshotName(base)]
  for (let number = first; number <= last; number++) {
    if (!logs.includes(number)) return { names, missing: logName(number) }
    names.push(logName(number))
  }
  return { names }
}

interface FileToCopy {
  readonly file: DiskFile
  readonly path: string
}

/** Says whether what was read is what the log has: a process whose disk fails takes back what it has written last. */
async function copyLog(disk: Disk, { file, path }: FileToCopy): Promise<boolean> {
  const bytes = await readAll(file)
  await write(disk, path, async (copy) => copy.write(bytes, 0))
  const again = await readAll(file)
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return again.subarray(0, end).equals(bytes.subarray(0, end))
}

/** One that never changes. */
async function copyFile(disk: Disk, { file, path }: FileToCopy): Promise<boolean> {
  const chunk = Buffer.allocUnsafe(CHUNK)
  await write(disk, path, async (copy) => {
    for (let position = 0; ; ) {
      const length = await file.read(chunk, position)
      if (length === 0) return
      await copy.write(chunk.subarray(0, length), position)
      position += length
    }
  })
  return true
}

async function write(disk: Disk, path: string, fill: (copy: DiskFile) => Promise<void>): Promise<void> {
  const copy = await disk.open(path, 'create')
  try {
    await fill(copy)
    await copy.sync()
  } finally {
    await copy.close()
  }
}

/** What was being written, and what a log is made ready with. */
async function cutTails(disk: Disk, directory: string, { logs }: StoreRead): Promise<void> {
  for (const { number, end } of logs) {
    const file = await disk.open(join(directory, logName(number)), 'change')
    try {
      await file.truncate(end)
      await file.sync()
    } finally {
      await file.close()
    }
  }
}
