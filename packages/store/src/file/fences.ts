import { join } from 'node:path'
import type { StoreLog } from '../kind.ts'
import type { Resident } from '../resident/resident.ts'
import { FENCES_FILE, logName, writeWhole } from './directory.ts'
import { type Disk, readAll } from './disk.ts'
import { frameAt, frameOf } from './log-record.ts'

/*
 * A log that has lost its end may look like a whole one. So the fences that may have been granted are written to a file of
 * their own, before they are granted, many at a time (docs/decisions/0015-lost-tails.md).
 */

/** Where logs end, by their numbers. Empty ones are not among them. */
export type LogEnds = readonly (readonly [number: number, end: number])[]

export interface ReservedFences {
  /** No higher fence has been granted. */
  readonly upTo: number
  /** Where the logs ended when the store was closed. `undefined` while it is open, and so after a crash. */
  readonly closedAt?: LogEnds
}

/** So many at a time: a hundred thousand grants a second of one resource would wait for it twice a second. */
export const FENCE_BLOCK = 65_536

export function endsOf(logs: readonly { readonly number: number; readonly end: number }[]): LogEnds {
  return logs.filter(({ end }) => end > 0).map(({ number, end }) => [number, end] as const)
}

/** `undefined` if the file is not what was written. */
export async function readReserved(disk: Disk, directory: string): Promise<ReservedFences | undefined> {
  const file = await disk.open(join(directory, FENCES_FILE), 'read')
  try {
    const frame = frameAt(await readAll(file), 0)
    return frame && JSON.parse(frame.payload.toString())
  } finally {
    await file.close()
  }
}

export async function writeReserved(disk: Disk, directory: string, reserved: ReservedFences): Promise<void> {
  await writeWhole(disk, directory, { name: FENCES_FILE, bytes: frameOf(JSON.stringify(reserved)) })
}

interface FenceReserveOptions {
  readonly disk: Disk
  readonly directory: string
  readonly upTo: number
  readonly block: number
}

/** The fences that may be granted without another write. */
export class FenceReserve {
  readonly #options: FenceReserveOptions
  #upTo: number

  constructor(options: FenceReserveOptions) {
    this.#options = options
    this.#upTo = options.upTo
  }

  /** Resolves when this fence is reserved. `undefined` if it is already. */
  cover(fence: number): Promise<void> | undefined {
    return fence <= this.#upTo ? undefined : this.#reserve(fence)
  }

  async close(closedAt: LogEnds): Promise<void> {
    const { disk, directory } = this.#options
    await writeReserved(disk, directory, { upTo: this.#upTo, closedAt })
  }

  async #reserve(fence: number): Promise<void> {
    const { disk, directory, block } = this.#options
    const upTo = Math.min(fence + block, Number.MAX_SAFE_INTEGER)
    await writeReserved(disk, directory, { upTo })
    this.#upTo = upTo
  }
}

interface FoundStore {
  readonly reserved: ReservedFences | undefined
  readonly logs: readonly { readonly number: number; readonly end: number; readonly isTorn: boolean }[]
  readonly resident: Resident
}

/** What was read may lack changes that were acknowledged. */
interface Doubt {
  /** The highest fence that may have been granted. */
  readonly fenceFloor: number
  /** Changes that were acknowledged are lost for certain. */
  readonly isLoss: boolean
  readonly why: string
  /** The file, and the byte from which on it is cut off, if a write was cut short. */
  readonly where: { readonly file?: string; readonly byte?: number }
}

const CHANGED =
  'the log of the store is not as it was left: changes that were acknowledged are lost, and locks may be free that somebody holds'
const CUT_SHORT = 'the log of the store ends in a write that was cut short'
const NOT_CLOSED = 'the store was not closed, or was restored, so its log may lack the end'

/**
 * The log is whole only if it ends where this process (`knownEnds`) has left it, or where the process before left it when it
 * closed the store.
 */
export function doubtOf({ reserved, logs, resident }: FoundStore, knownEnds?: LogEnds): Doubt | undefined {
  const expected = knownEnds ?? reserved?.closedAt
  const isAsLeft = JSON.stringify(expected) === JSON.stringify(endsOf(logs))
  if (isAsLeft) return undefined
  const torn = logs.find(({ isTorn }) => isTorn)
  // A new directory does not say where its logs end. And floors that are above all fences need not be raised.
  const isBelow = reserved !== undefined && Math.min(...resident.shards.fenceFloors) < reserved.upTo
  if (!expected && !torn && !isBelow) return undefined
  return {
    fenceFloor: reserved?.upTo ?? resident.shards.highestFence() + FENCE_BLOCK,
    isLoss: expected !== undefined,
    why: expected ? CHANGED : torn ? CUT_SHORT : NOT_CLOSED,
    where: torn ? { file: logName(torn.number), byte: torn.end } : {},
  }
}

export function logDoubt(log: StoreLog | undefined, directory: string, { why, where, fenceFloor }: Doubt): void {
  log?.warn('fences go on above all that may have been granted', { why, directory, ...where, fencesAbove: fenceFloor })
}

/** As many grants of one resource as would take a day at 50,000 a second; two million such raises fit into what a fence can be. */
const RAISE_BY = 2 ** 32
/** A raise leaves at least half of all fences to be granted. */
const HIGHEST = 2 ** 52

/** Where fences go on if they are raised above `highest`, which is the highest that is known. */
export function raised(highest: number, { directory, by = RAISE_BY }: { directory: string; by?: number | undefined }) {
  const upTo = highest + by
  if (upTo <= HIGHEST) return upTo
  throw new Error(
    `fences of ${directory} would begin at ${upTo}, and above ${HIGHEST} they are not raised: choose less with --by`,
  )
}
