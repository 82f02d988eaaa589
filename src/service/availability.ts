import { StoreUnavailable } from '../stores/store.ts'
import { processMs } from './clock.ts'
import type { Log } from './log.ts'
import type { Buckets } from './statistics/buckets.ts'
import type { Statistics } from './statistics/statistics.ts'

/** Logs once that the store does not answer, and once that it answers again. */
export class StoreAvailability {
  readonly #log: Log
  readonly #times: Buckets | undefined
  #isAway = false
  #stopped = false

  constructor(log: Log, statistics?: Pick<Statistics, 'storeSteps'>) {
    this.#log = log
    this.#times = statistics?.storeSteps
  }

  /** Passes on what came of something that was asked of the store. */
  async watch<Result>(asked: Promise<Result>, times?: Buckets): Promise<Result> {
    const sinceMs = times ? processMs() : 0
    try {
      const result = await asked
      this.answered()
      return result
    } catch (error) {
      this.failed(error)
      throw error
    } finally {
      times?.addMs(processMs() - sinceMs)
    }
  }

  /** The same of a step, or of several together: how long it took is noted, where anybody counts. */
  step<Result>(asked: Promise<Result>): Promise<Result> {
    return this.watch(asked, this.#times)
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
