import { filePlanOf, planOf } from './plan.ts'
import { type RunResult, simulate } from './simulate.ts'

/** Which seeds to run, and on what. */
interface SeedsOptions {
  /** How many. */
  readonly seeds: number
  /** The first one. Default: 1. */
  readonly from?: number
  /** Every so many of them, for workers that share a range. Default: 1, every one. */
  readonly stride?: number
  /** `file`: a server on a disk that loses what was not synced, and crashes often. Default: `memory`. */
  readonly store?: 'memory' | 'file'
  /** False: the storage of the simulated users does not check fences, and invariant 2 fails. Default: true. */
  readonly checkFences?: boolean
}

/** What came of one seed. The same seed gives the same again: `{ seeds: 1, from: seed }` replays it. */
interface SeedResult extends RunResult {
  readonly seed: number
}

/** Runs a range of seeds, one after the other. One with violations ends nothing: that is for the caller to do. */
export async function* simulateSeeds(options: SeedsOptions): AsyncGenerator<SeedResult, void, undefined> {
  const { seeds, from = 1, stride = 1, store = 'memory', checkFences } = options
  const planFor = store === 'file' ? filePlanOf : planOf
  for (let seed = from; seed < from + seeds; seed += stride) {
    yield { seed, ...(await simulate(planFor(seed), { checkFences })) }
  }
}
