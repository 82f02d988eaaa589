import { performance } from 'node:perf_hooks'
import type { Clock } from '../stores/store.ts'

/** A pause between two beats that is longer than this was a stall of the process, not the passing of time. */
const STALL_MS = 1_000
const BEAT_MS = 200

/**
 * Time that stands still while the process does. A server that was stopped for a minute has not heard the renewals
 * that were sent to it meanwhile, so nobody's lease may run out for that minute.
 */
export class SteadyClock implements Clock {
  readonly #rawMs: () => number
  #lastBeatMs: number
  #stalledMs = 0
  #toldMs = -Infinity

  constructor(rawMs: () => number) {
    this.#rawMs = rawMs
    this.#lastBeatMs = rawMs()
  }

  nowMs(): number {
    const rawMs = this.#rawMs()
    const pauseMs = rawMs - this.#lastBeatMs
    if (pauseMs > STALL_MS) {
      this.#stalledMs += pauseMs
      this.#lastBeatMs = rawMs
    }
    // What was told between the last beat and the stall stands: time waits until it has caught up.
    this.#toldMs = Math.max(this.#toldMs, rawMs - this.#stalledMs)
    return this.#toldMs
  }

  /** To be called regularly: two beats far apart are how a stall shows. */
  beat(): void {
    this.nowMs()
    this.#lastBeatMs = this.#rawMs()
  }
}

/** The monotonic clock of this process. */
export function systemClock(): Clock & { stop(): void } {
  const clock = new SteadyClock(() => Math.floor(performance.timeOrigin + performance.now()))
  const beat = setInterval(() => clock.beat(), BEAT_MS)
  beat.unref()
  return { nowMs: () => clock.nowMs(), stop: () => clearInterval(beat) }
}
