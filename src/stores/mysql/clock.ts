import { performance } from 'node:perf_hooks'
import type { Clock } from '../store.ts'

/**
 * The database's clock is the only one that decides. Here it is only guessed, from when it was last heard, to know when to
 * ask again. Tests put a clock of their own in its place.
 */
export class DatabaseClock {
  readonly #instead: Clock | undefined
  #aheadMs = Date.now() - performance.now()

  constructor(instead: Clock | undefined) {
    this.#instead = instead
  }

  /** The time in milliseconds since 1970, as an expression. */
  get sql(): string {
    return this.#instead ? `${this.#instead.nowMs()}` : 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)'
  }

  get isReal(): boolean {
    return this.#instead === undefined
  }

  nowMs(): number {
    return this.#instead ? this.#instead.nowMs() : Math.floor(performance.now() + this.#aheadMs)
  }

  heard(nowMs: number): void {
    this.#aheadMs = nowMs - performance.now()
  }
}
