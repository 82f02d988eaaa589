import type { Address } from '../store.ts'
import { isOf } from './comparisons.ts'
import { type Copies, Copy } from './copies.ts'
import type { Comparison, Found, RangeOptions } from './etcd.ts'
import type { IndexCopy } from './index-copy.ts'
import { type Keys, partsIn, pathIn } from './keys.ts'
import type { Reads } from './reads.ts'
import type { StoreState } from './store-state.ts'

/** What this process knows without reading. */
export interface Known {
  readonly keys: Keys
  readonly storeState: StoreState
  readonly index: IndexCopy
  readonly copies: Copies
}

/** Each takes a comparison of its own. */
const SESSIONS = 16

/**
 * What one transaction has taken from what is known here in place of reading it. It may be old: all of it is compared by the commit, which fails
 * where anything has changed.
 */
export class Recollection {
  readonly #known: Known
  readonly #copies: ReadonlyMap<string, Copy>
  /** The keys that say where sessions are, by the revision at which they were written. */
  #sessions: ReadonlyMap<string, number> = new Map()

  /** `copies`: of the resources that it is about, by their paths. */
  constructor(known: Known, copies: ReadonlyMap<string, Copy> = new Map()) {
    this.#known = known
    this.#copies = copies
  }

  /** Answers these reads, as of that revision; false where that is not known. */
  recall(reads: Reads, revision: number): boolean {
    const sessions = new Map(this.#sessions)
    if (!reads.recall((range) => this.#find(range, sessions), revision)) return false
    this.#sessions = sessions
    return true
  }

  get comparisons(): readonly Comparison[] {
    return Array.from(this.#sessions, ([key, revision]) => isOf(key, revision))
  }

  /** What etcd would find; nothing where that is not known. */
  #find(range: RangeOptions, sessions: Map<string, number>): Found | undefined {
    const { keys, storeState, index } = this.#known
    const path = pathIn(range.key, keys)
    if (path !== undefined) return this.#copies.get(path)?.find(range)
    if (!range.key.startsWith(keys.alive.key)) return storeState.find(range)
    const kv = index.sessions.alive(partsIn(range.key, keys.alive)[0]!)
    if (!kv) return undefined
    // Whether it is alive is compared in any case; where it is, only for those who have asked for it.
    if (!range.keysOnly) sessions.set(range.key, kv.modRevision)
    return sessions.size > SESSIONS ? undefined : { kvs: [kv], count: 1 }
  }
}

/** Of a resource: what this process has left of it, or nothing where nobody has heard of one. */
export function copyOf({ copies, index }: Known, address: Address, path: string): Copy | undefined {
  return copies.of(path) ?? (index.of(address) ? undefined : new Copy())
}
