import { join } from 'node:path'
import { UnknownFormat } from '../store.ts'
import { type Disk, readAll } from './disk.ts'
import { DamagedStore } from './errors.ts'

/** Of all files of a store, and of its backups. Any other format is refused. */
export const FORMAT = 1
const FORMAT_FILE = 'format'
export const FENCES_FILE = 'fences'
const ID_FILE = 'id'

/** The files in a directory. A snapshot is of the moment at which the log of the same number began. */
export interface Contents {
  readonly snapshots: readonly number[]
  readonly logs: readonly number[]
  /** Whether the file of reserved fences is there. Every store has one. */
  readonly hasFences: boolean
  /** Files that were being written when the process before ended. */
  readonly unfinished: readonly string[]
}

export const logName = (number: number) => `log-${number}`
export const snapshotName = (number: number) => `snapshot-${number}`
export const unfinished = (name: string) => `${name}.unfinished`

/** There while a restore is under way. */
export const RESTORING_FILE = 'restoring'

/** If none of these is there, the directory has no store, and none is being restored to it. */
export const isOfStore = (name: string) =>
  name === FORMAT_FILE || name === RESTORING_FILE || /^(log|snapshot)-\d+$/.test(name)

const FILE = /^(format|id|fences|probe|(log|snapshot)-\d+)(\.unfinished)?$/

/** The files of a store, without its lock. The format is first: without it the others are not taken for a store. */
export function filesOfStore(names: readonly string[]): string[] {
  const isFormat = (name: string) => name === FORMAT_FILE
  return [...names.filter(isFormat), ...names.filter((name) => FILE.test(name) && !isFormat(name))]
}

export async function contentsOf(disk: Disk, directory: string): Promise<Contents> {
  const names = await disk.list(directory)
  const numbered = (kind: RegExp) =>
    names
      .map((name) => kind.exec(name)?.[1])
      .filter((number) => number !== undefined)
      .map(Number)
      .sort((a, b) => a - b)
  return {
    snapshots: numbered(/^snapshot-(\d+)$/),
    logs: numbered(/^log-(\d+)$/),
    hasFences: names.includes(FENCES_FILE),
    unfinished: names.filter((name) => name.endsWith(unfinished(''))),
  }
}

/** Whether there is a store in the directory. Throws if its format is unknown, or if it lacks a file that every store has. */
export async function checkFormat(disk: Disk, directory: string, { mayBeNew = true } = {}): Promise<boolean> {
  const names = await disk.list(directory)
  if (names.includes(RESTORING_FILE)) {
    throw new Error(`a restore to ${directory} was not finished: run it again, with --force`)
  }
  if (!names.includes(FORMAT_FILE)) {
    if (!mayBeNew || names.some(isOfStore)) throw missing(directory, FORMAT_FILE)
    return false
  }
  const format = await readFormat(disk, directory)
  if (format !== FORMAT) throw new UnknownFormat(directory, { found: format, known: FORMAT })
  if (!names.includes(FENCES_FILE)) throw missing(directory, FENCES_FILE)
  return true
}

function missing(directory: string, file: string): DamagedStore {
  return new DamagedStore({ directory, file, what: 'it is missing' })
}

/** Written last: from then on the directory has a store. */
export async function writeFormat(disk: Disk, directory: string): Promise<void> {
  await writeWhole(disk, directory, { name: FORMAT_FILE, bytes: Buffer.from(`baton file store, format ${FORMAT}\n`) })
}

/** `undefined` if the file does not say which format it is, in the words of this version. */
async function readFormat(disk: Disk, directory: string): Promise<number | undefined> {
  const text = await readText(disk, join(directory, FORMAT_FILE))
  const format = /^baton file store, format (\d+)\n$/.exec(text)?.[1]
  return format === undefined ? undefined : Number(format)
}

async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, 'read')
  try {
    return (await readAll(file)).toString()
  } finally {
    await file.close()
  }
}

/** The id of the store. It is made anew if it is missing or unreadable: nothing in the store depends on it. */
export async function storeId(disk: Disk, directory: string, uniqueName: () => string): Promise<string> {
  const present = await readId(disk, directory)
  if (present !== undefined) return present
  const id = uniqueName()
  await writeId(disk, directory, id)
  return id
}

export async function readId(disk: Disk, directory: string): Promise<string | undefined> {
  const names = await disk.list(directory)
  const present = names.includes(ID_FILE) ? (await readText(disk, join(directory, ID_FILE))).trim() : ''
  return /^[\x21-\x7e]{1,64}$/.test(present) ? present : undefined
}

export async function writeId(disk: Disk, directory: string, id: string): Promise<void> {
  await writeWhole(disk, directory, { name: ID_FILE, bytes: Buffer.from(`${id}\n`) })
}

/** Replaces a file as a whole: after a crash it is the old one or the new one. */
export async function writeWhole(
  disk: Disk,
  directory: string,
  { name, bytes }: { readonly name: string; readonly bytes: Buffer },
): Promise<void> {
  const path = join(directory, name)
  const file = await disk.open(unfinished(path), 'create')
  try {
    await file.write(bytes, 0)
    await file.sync()
  } finally {
    await file.close()
  }
  await disk.rename(unfinished(path), path)
  await disk.syncDirectory(directory)
}

/** Does something with a store that no process has open, and keeps others from opening it meanwhile. */
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
