import type { ClientRandom } from './random.ts'

const FIRST_MS = 50
const LAST_MS = 5_000

/** Pauses between tries: each about twice the one before, with jitter, so that those who failed together part ways. */
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

  reset(): void {
    this.#tries = 0
  }
}
