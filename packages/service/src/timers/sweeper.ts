import type { Store } from '@baton-lock/store/store'
import type { StoreAvailability } from '../availability.ts'
import type { Timers } from './timers.ts'

const SWEEP_LIMIT = 1_000
const RETRY_MS = 500

/** The one timer of a service. It wakes at the store's next deadline, and sweeps in small steps. */
export class Sweeper {
  readonly #store: Store
  readonly #timers: Timers
  readonly #availability: StoreAvailability
  #armedForMs: number | undefined
  #cancel: () => void = () => {}
  #stopped = false

  constructor(
    store: Store,
    { timers, availability }: { readonly timers: Timers; readonly availability: StoreAvailability },
  ) {
    this.#store = store
    this.#timers = timers
    this.#availability = availability
    this.arm()
  }

  /** Makes the timer wake no later than the next deadline. */
  arm(): void {
    const nextMs = this.#store.nextDeadlineMs()
    if (this.#stopped || nextMs === undefined) return
    if (this.#armedForMs === undefined || nextMs < this.#armedForMs) this.#wakeAt(nextMs)
  }

  stop(): void {
    this.#stopped = true
    this.#cancel()
  }

  #wakeAt(atMs: number): void {
    this.#cancel()
    this.#armedForMs = atMs
    this.#cancel = this.#timers.after(Math.max(0, Math.ceil(atMs - this.#store.nowMs())), () => void this.#sweep())
  }

  async #sweep(): Promise<void> {
    this.#armedForMs = undefined
    try {
      await this.#availability.watch(this.#store.sweep(SWEEP_LIMIT))
      this.arm()
    } catch {
      // A store that is away keeps its deadlines. They are applied when it is back, and by every step before that.
      if (!this.#stopped) this.#wakeAt(this.#store.nowMs() + RETRY_MS)
    }
  }
}
