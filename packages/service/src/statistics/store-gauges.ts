import type { Counts, QueueDepth, Store } from '@baton-lock/store/store'
import type { Statistics } from './statistics.ts'

/** Numbers from the store. */
export interface Gauged {
  readonly counts: Counts
  /** Absent if the store does not know. */
  readonly queues?: readonly QueueDepth[] | undefined
}

/** How long numbers are reused, as they may cost the store a few queries. */
const KEPT_MS = 2_000

/**
 * Reads numbers from the store, for the dashboard and for metrics. Also corrects the statistics by them: the number
 * of waiters, and the names of the policy, which another process may have changed.
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
