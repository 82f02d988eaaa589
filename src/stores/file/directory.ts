import { join } from 'node:path'
import { type Disk, readAll } from './disk.ts'
import { DamagedStore, NewerFormat } from './errors.ts'

/** Rises when a newer version writes what this one could not read. */
const FORMAT = 5
/** From this one on there are reserved fences. */
const FORMAT_OF_FENCES = 5
const FORMAT_FILE = 'format'
export const FENCES_FILE = 'fences'
const ID_FILE = 'id'

/** What is in a directory: snapshots, each of the moment at which the log of the same number began, and logs. */
export interface Contents {
  readonly snapshots: readonly number[]
  readonly logs: readonly number[]
  /** Older versions have no file of reserved fences. */
  readonly hasFences: boolean
  /** What a crash has left half done. */
  readonly unfinished: readonly string[]
}

export const logName = (number: number) => `log-${number}`
export const snapshotName = (number: number) => `snapshot-${number}`
export const unfinished = (name: string) => `${name}.unfinished`

const RESTORING = 'restoring-'
/** Where a restore makes ready what it then puts in place; it goes when all is there. */
export const restoringName = (stamp: string) => `${RESTORING}${stamp}`
export const isRestoring = (name: string) => name.startsWith(RESTORING)

/** Where none of these is, there is no store, and none that is being put in place. */
export const isOfStore = (name: string) =>
  name === FORMAT_FILE || /^(log|snapshot)-\d+$/.test(name) || isRestoring(name)

const FILE = /^(format|id|fences|probe|(log|snapshot)-\d+)(\.(unfinished|damaged))?$/

/** All that a store leaves in its directory, but for the lock. The format first: without it nobody takes the others for a store. */
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

/** Refuses a directory of a newer version, or one that has lost what every store has. Says whether it is marked as this version's. */
export async function checkFormat(disk: Disk, directory: string, { mayBeNew = true } = {}): Promise<boolean> {
  const names = await disk.list(directory)
  if (!names.includes(FORMAT_FILE)) {
    if (names.some(isRestoring))
      throw new Error(`a restore to ${directory} was not finished: say it again, with --force`)
    if (!mayBeNew || names.some(isOfStore)) throw missing(directory, FORMAT_FILE)
    return false
  }
  const format = await readFormat(disk, directory)
  if (format > FORMAT) {
    throw new NewerFormat(
      `${directory} was written by a newer Baton (format ${format}, this one knows ${FORMAT}): use that one`,
    )
  }
  if (format >= FORMAT_OF_FENCES && !names.includes(FENCES_FILE)) throw missing(directory, FENCES_FILE)
  return format === FORMAT
}

function missing(directory: string, file: string): DamagedStore {
  return new DamagedStore({ directory, file, what: 'it is missing' })
}

/** From here on an older version, which could misread it, refuses it. `format`: of a copy, that of the original. */
export async function writeFormat(disk: Disk, directory: string, format = FORMAT): Promise<void> {
  await writeWhole(disk, directory, { name: FORMAT_FILE, bytes: Buffer.from(`baton file store, format ${format}\n`) })
}

export async function readFormat(disk: Disk, directory: string): Promise<number> {
  const text = await readText(disk, join(directory, FORMAT_FILE))
  const format = /^baton file store, format (\d+)\n$/.exec(text)?.[1]
  if (format === undefined) {
    throw new DamagedStore({ directory, file: FORMAT_FILE, offset: 0, what: 'it does not say which format this is' })
  }
  return Number(format)
}

async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, 'read')
  try {
    return (await readAll(file)).toString()
  } finally {
    await file.close()
  }
}

/** What tells this store from others. Where it is missing or not readable, it is made anew: nothing in the store rests on it. */
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

/** All of the file or none of it, whatever happens. */
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
