import type { Counts, QueueDepth, Store } from '../stores/store.ts'
import type { Statistics } from './statistics/statistics.ts'

/** What a store says of itself. */
export interface Gauged {
  readonly counts: Counts
  /** Absent where the store does not know. */
  readonly queues?: readonly QueueDepth[] | undefined
}

/** It may cost the store a few queries, so it is asked no more often, however many want to know. */
const KEPT_MS = 2_000

/**
 * What a store says of itself, for those who look at it and those who measure it. What statistics have from events is put right
 * by it on the way: how many wait, and what the policy names, which another process may have changed.
 */
export class StoreGauges {
  readonly #store: Store
  readonly #statistics: Statistics | undefined
  #version: number | undefined
  #readAtMs = -Infinity
  #reading: Promise<Gauged> | undefined
  #last: Gauged | undefined

  constructor(store: Store, statistics: Statistics | undefined) {
    this.#store = store
    this.#statistics = statistics
  }

  /** Throws what the store throws. */
  async read(): Promise<Gauged> {
    if (this.#last && this.#store.nowMs() - this.#readAtMs < KEPT_MS) return this.#last
    this.#reading ??= this.#ask().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #ask(): Promise<Gauged> {
    this.#last = undefined
    const [{ version, policy }, counts, queues] = await Promise.all([
      this.#store.policy(),
      this.#store.counts(),
      this.#store.queues?.(),
    ])
    if (version !== this.#version) this.#statistics?.use(policy)
    this.#version = version
    if (queues) this.#statistics?.correct(queues)
    this.#readAtMs = this.#store.nowMs()
    this.#last = { counts, queues }
    return this.#last
  }
}
