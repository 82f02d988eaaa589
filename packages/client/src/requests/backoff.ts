import type { ClientRandom } from '../random.ts'

const FIRST_MS = 50
const LAST_MS = 5_000
/** With less time than this, another try would hardly get a reply. */
const TRY_MIN_MS = 20

/** Pauses between tries: each about twice the one before, with jitter, so that clients that failed together do not retry together. */
export class Backoff {
  readonly #random: ClientRandom
  readonly #lastMs: number
  #tries = 0

  constructor(random: ClientRandom, lastMs: number = LAST_MS) {
    this.#random = random
    this.#lastMs = lastMs
  }

  /** How many pauses there have been. */
  get tries(): number {
    return this.#tries
  }

  nextMs(): number {
    const fullMs = Math.min(this.#lastMs, FIRST_MS * 2 ** Math.min(this.#tries++, 20))
    return fullMs * (0.5 + this.#random.fraction() / 2)
  }

  /**
   * The same within a limit: half of the time left at most, so that the last tries come near its end, each with time for a reply.
   * `undefined` if another try is not worth while.
   */
  nextWithinMs(leftMs: number): number | undefined {
    const delayMs = this.nextMs()
    return leftMs < TRY_MIN_MS ? undefined : Math.min(delayMs, leftMs / 2)
  }

  reset(): void {
    this.#tries = 0
  }
}
