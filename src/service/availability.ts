import { StoreUnavailable } from '../stores/store.ts'
import type { Log } from './log.ts'

/** Logs once that the store does not answer, and once that it answers again. */
export class StoreAvailability {
  readonly #log: Log
  #isAway = false
  #stopped = false

  constructor(log: Log) {
    this.#log = log
  }

  /** Passes on what came of something that was asked of the store. */
  async watch<Result>(asked: Promise<Result>): Promise<Result> {
    try {
      const result = await asked
      if (this.#isAway) this.#log('the store answers again')
      this.#isAway = false
      return result
    } catch (error) {
      if (error instanceof StoreUnavailable && !this.#isAway && !this.#stopped) {
        this.#isAway = true
        this.#log('the store does not answer', { reason: error.message })
      }
      throw error
    }
  }

  /** From now on it is no news that the store does not answer. */
  stop(): void {
    this.#stopped = true
  }
}
