import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

/** How often it is looked. What is measured is how much later than that. */
const EVERY_MS = 20
/** What is told is of so long at least: two who ask one after the other are told the same. */
const PERIOD_MS = 10_000

const QUANTILES = [0.5, 0.9, 0.99, 1] as const

/** In seconds. */
export interface Delays {
  /** Of the last period; empty where nothing was measured yet. */
  readonly quantiles: readonly { readonly quantile: number; readonly delay: number }[]
  /** Since it began. */
  readonly sum: number
  readonly count: number
}

/** How late the event loop is: for so long everybody waits for this process. Measures from the first time that it is asked. */
export class EventLoopDelay {
  readonly #nowMs: () => number
  #histogram: IntervalHistogram | undefined
  #beganMs = 0
  #last: Delays = { quantiles: [], sum: 0, count: 0 }

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  read(): Delays {
    if (!this.#histogram) this.#begin()
    else if (this.#nowMs() - this.#beganMs >= PERIOD_MS) this.#turn(this.#histogram)
    return this.#last
  }

  stop(): void {
    this.#histogram?.disable()
  }

  #begin(): void {
    this.#histogram = monitorEventLoopDelay({ resolution: EVERY_MS })
    this.#histogram.enable()
    this.#beganMs = this.#nowMs()
  }

  #turn(histogram: IntervalHistogram): void {
    const { count, mean } = histogram
    this.#beganMs = this.#nowMs()
    if (count === 0) return
    const quantiles = QUANTILES.map((quantile) => ({
      quantile,
      delay: secondsLate(histogram.percentile(100 * quantile)),
    }))
    this.#last = { quantiles, sum: this.#last.sum + secondsLate(mean) * count, count: this.#last.count + count }
    histogram.reset()
  }
}

function secondsLate(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - EVERY_MS / 1_000)
}
