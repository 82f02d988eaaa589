import type { StoreLog } from '../kind.ts'
import { logName } from './directory.ts'
import type { StoreRead } from './read-store.ts'
import { endsOf, FENCE_BLOCK, isSameEnds, type LogEnds } from './reserved-fences.ts'

/** Something that was acknowledged may not be in what was read. */
interface Doubt {
  /** The highest fence that may have been granted. */
  readonly fenceFloor: number
  readonly why: string
  /** The file, and the byte from which on it is cut off, where that is known. */
  readonly where: { readonly file?: string; readonly byte?: number }
}

const changed =
  'the log of the store is not as it was left: changes that were acknowledged are lost, and locks may be free that somebody holds'
const cutShort = 'the log of the store ends in a write that was cut short'
const notClosed = 'the store was not closed, or comes from a copy, so its log may lack the end'

/**
 * A log that lost its end at the end of a record looks like any other. So it is whole only if it ends where this process
 * (`knownEnds`), or the one before when it closed the store, has left it.
 */
export function doubtOf({ reserved, logs, resident }: StoreRead, knownEnds?: LogEnds): Doubt | undefined {
  const expected = knownEnds ?? reserved?.closedAt
  if (expected && isSameEnds(expected, endsOf(logs))) return undefined
  const torn = logs.find(({ isTorn }) => isTorn)
  // A directory of an older version says nothing of its end, and where the floors are above everything there is nothing to raise.
  const isBelow = reserved !== undefined && Math.min(...resident.shards.fenceFloors) < reserved.upTo
  if (!expected && !torn && !isBelow) return undefined
  return {
    fenceFloor: reserved?.upTo ?? resident.shards.highestFence() + FENCE_BLOCK,
    why: expected ? changed : torn ? cutShort : notClosed,
    where: torn ? { file: logName(torn.number), byte: torn.end } : {},
  }
}

export function logDoubt(log: StoreLog | undefined, directory: string, { why, where, fenceFloor }: Doubt): void {
  log?.warn('fences go on above all that may have been granted', { why, directory, ...where, fencesAbove: fenceFloor })
}
