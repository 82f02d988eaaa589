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
      this.answered()
      return result
    } catch (error) {
      this.failed(error)
      throw error
    }
  }

  answered(): void {
    if (this.#isAway) this.#log.info('the store answers again')
    this.#isAway = false
  }

  failed(error: unknown): void {
    if (!(error instanceof StoreUnavailable) || this.#isAway || this.#stopped) return
    this.#isAway = true
    this.#log.error('the store does not answer', { reason: error.message })
  }

  /** From now on it is no news that the store does not answer. */
  stop(): void {
    this.#stopped = true
  }
}
