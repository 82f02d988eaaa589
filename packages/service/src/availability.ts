import { isStoreUnavailable } from '@baton-lock/store/store'
import type { Log } from './log.ts'

/** Logs once when the store stops answering, and once when it answers again. */
export class StoreAvailability {
  readonly #log: Log
  #isAway = false
  #stopped = false

  constructor(log: Log) {
    this.#log = log
  }

  /** Passes a result or an error of the store on, and notes it. */
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
    if (!isStoreUnavailable(error) || this.#isAway || this.#stopped) return
    this.#isAway = true
    this.#log.error('the store does not answer', { reason: error.message })
  }

  /** From now on, failures are not logged. */
  stop(): void {
    this.#stopped = true
  }
}
