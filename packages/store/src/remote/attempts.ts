import type { Timing } from '../timing.ts'

/** Everything is given up before a caller has waited for so long. */
export const DEADLINE_MS = 8_000
/** Once a database has been away for so long, it is not waited for: whoever asks is told soon. */
const AWAY_MS = 5_000
const AWAY_DEADLINE_MS = 1_500
const LONGEST_PAUSE_MS = 500

interface AttemptsOptions {
  readonly timing: Timing
  /** `again`: somebody else was first. `lost`: nobody answered. `final`: it would fail again. */
  readonly judge: (error: unknown) => 'again' | 'lost' | 'final'
}

/** Tries again what gave way or found nobody, with pauses that grow, until a deadline. */
export class Attempts {
  readonly #timing: Timing
  readonly #judge: AttemptsOptions['judge']
  #awaySinceMs: number | undefined
  #closed = false

  constructor({ timing, judge }: AttemptsOptions) {
    this.#timing = timing
    this.#judge = judge
  }

  /** By when whoever asks now has to have an answer, by the monotonic clock. */
  deadlineMs(): number {
    return this.#timing.monoMs() + DEADLINE_MS
  }

  /** Throws the last error where it is final or the deadline has come. */
  async run<Result>(attempt: (endMs: number) => Promise<Result>, byMs = this.deadlineMs()): Promise<Result> {
    const timing = this.#timing
    const endMs = this.#isAway() ? Math.min(byMs, timing.monoMs() + AWAY_DEADLINE_MS) : byMs
    for (let tries = 1; ; tries++) {
      const startedMs = timing.monoMs()
      try {
        const result = await attempt(endMs)
        this.#awaySinceMs = undefined
        return result
      } catch (error) {
        const judged = this.#judge(error)
        this.#awaySinceMs = judged === 'lost' ? (this.#awaySinceMs ?? startedMs) : undefined
        const pauseMs = timing.random() * Math.min(LONGEST_PAUSE_MS, 5 * 2 ** tries)
        if (judged === 'final' || this.#closed || timing.monoMs() + pauseMs > endMs) throw error
        await timing.pause(pauseMs)
      }
    }
  }

  /** What fails from now on is not tried again. */
  close(): void {
    this.#closed = true
  }

  #isAway(): boolean {
    return this.#awaySinceMs !== undefined && this.#timing.monoMs() > this.#awaySinceMs + AWAY_MS
  }
}
