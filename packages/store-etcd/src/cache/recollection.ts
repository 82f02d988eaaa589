import type { Address } from '@baton-lock/store/store'
import type { Comparison, Found, RangeOptions } from '../etcd.ts'
import { type Keys, partsIn, pathIn } from '../keys.ts'
import { isNotThere, isOf } from '../transaction/comparisons.ts'
import type { Reads } from '../transaction/reads.ts'
import type { StoreState } from '../upkeep/store-state.ts'
import { type Copies, Copy } from './copies.ts'
import type { IndexCopy } from './index-copy.ts'

/** What this process knows without reading. */
export interface Known {
  readonly keys: Keys
  readonly storeState: StoreState
  readonly index: IndexCopy
  readonly copies: Copies
}

/** Each takes a comparison of its own. */
const SESSIONS = 16
const ABSENT = 16

/** What was taken for granted. */
interface Taken {
  /** The keys that say where sessions are, by the revision at which they were written. */
  readonly sessions: ReadonlyMap<string, number>
  /** Where there is nothing, as long as nobody says otherwise. */
  readonly absent: readonly RangeOptions[]
}

/**
 * What one transaction has taken from what is known here in place of reading it. It may be old: all of it is compared by the commit, which fails
 * where anything has changed.
 */
export class Recollection {
  readonly #known: Known
  readonly #copies: ReadonlyMap<string, Copy>
  readonly #mayAssume: boolean
  #taken: Taken = { sessions: new Map(), absent: [] }

  /**
   * `copies`: of the resources that it is about, by their paths. `mayAssume`: most asks are new, so that nothing of them is there; a copy that does not
   * say so is taken as if it did.
   */
  constructor(known: Known, copies: ReadonlyMap<string, Copy> = new Map(), mayAssume = false) {
    this.#known = known
    this.#copies = copies
    this.#mayAssume = mayAssume
  }

  /** Answers these reads, as of that revision; false where that is not known. */
  recall(reads: Reads, revision: number): boolean {
    const sessions = new Map(this.#taken.sessions)
    const absent = [...this.#taken.absent]
    if (!reads.recall((range) => this.#find(range, sessions, absent), revision)) return false
    this.#taken = { sessions, absent }
    return true
  }

  get comparisons(): readonly Comparison[] {
    const { sessions, absent } = this.#taken
    return [
      ...Array.from(sessions, ([key, revision]) => isOf(key, revision)),
      ...absent.map(({ key, end }) => isNotThere({ key, ...(end !== undefined && { end }) })),
    ]
  }

  /** The copies, with what is known besides once the commit has compared it. */
  get copies(): ReadonlyMap<string, Copy> {
    const { absent } = this.#taken
    if (absent.length === 0) return this.#copies
    const { keys } = this.#known
    return new Map(
      Array.from(this.#copies, ([path, copy]) => {
        const some = absent.filter(({ key }) => pathIn(key, keys) === path)
        const reads = some.map((range) => [range, NOTHING] as const)
        return [path, copy.and(reads, keys)]
      }),
    )
  }

  /** What etcd would find; nothing where that is not known. */
  #find(range: RangeOptions, sessions: Map<string, number>, absent: RangeOptions[]): Found | undefined {
    const { keys, storeState, index } = this.#known
    const path = pathIn(range.key, keys)
    if (path !== undefined) return this.#copies.get(path)?.find(range) ?? this.#assumed(path, range, absent)
    if (!range.key.startsWith(keys.alive.key)) return storeState.find(range)
    const kv = index.sessions.alive(partsIn(range.key, keys.alive)[0]!)
    if (!kv) return undefined
    // Whether it is alive is compared in any case; where it is, only for those who have asked for it.
    if (!range.keysOnly) sessions.set(range.key, kv.modRevision)
    return sessions.size > SESSIONS ? undefined : { kvs: [kv], count: 1 }
  }

  #assumed(path: string, range: RangeOptions, absent: RangeOptions[]): Found | undefined {
    if (!this.#mayAssume || !this.#copies.has(path) || !this.#known.keys.isOfOneAsk(range.key)) return undefined
    if (!absent.some(({ key }) => key === range.key)) absent.push(range)
    return absent.length > ABSENT ? undefined : NOTHING
  }
}

const NOTHING: Found = { kvs: [], count: 0 }

/** Of a resource: what this process has left of it, or nothing where nobody has heard of one. */
export function copyOf({ copies, index }: Known, address: Address, path: string): Copy | undefined {
  return copies.of(path) ?? (index.of(address) ? undefined : new Copy())
}
