import type { WhenUnavailable } from './api.ts'
import { FIRST_CONTACT_MS } from './contact.ts'
import type { Wiring } from './wiring.ts'

/** How long one that stands in line bears that no server answers, where it was told not to wait for one. */
const IN_LINE_MS = 30_000

/** When to give up: the wait limit of a whole `run`, and how long it may go on that nobody answers. */
export class Patience {
  /** How long to stand in line; absent sets no limit, 0 is not at all. */
  readonly waitMs: number | undefined
  readonly #wiring: Wiring
  readonly #whenUnavailable: WhenUnavailable
  readonly #startMs: number

  constructor(wiring: Wiring, { waitMs, whenUnavailable }: { waitMs?: number; whenUnavailable: WhenUnavailable }) {
    if (waitMs !== undefined && !(waitMs >= 0)) throw new TypeError('waitMs is a number of milliseconds, 0 or more')
    this.waitMs = waitMs === Infinity ? undefined : waitMs
    this.#wiring = wiring
    this.#whenUnavailable = whenUnavailable
    this.#startMs = wiring.clock.monoMs()
  }

  /** What is left of the wait limit. */
  leftMs(): number {
    return this.waitMs === undefined ? Infinity : this.#startMs + this.waitMs - this.#wiring.clock.monoMs()
  }

  isOver(): boolean {
    return this.waitMs !== 0 && this.leftMs() <= 0
  }

  /** For how long an ask may go on unanswered. Once it is in line, it may have been granted and has more to lose. */
  unansweredLeftMs({ inLine, askedAtMs }: { inLine: boolean; askedAtMs: number }): number {
    const nowMs = this.#wiring.clock.monoMs()
    if (this.#whenUnavailable === 'wait') {
      if (inLine) return this.waitMs === 0 ? 0 : Infinity
      return this.#startMs + Math.max(this.waitMs ?? Infinity, FIRST_CONTACT_MS) - nowMs
    }
    if (!inLine) return askedAtMs + FIRST_CONTACT_MS - nowMs
    return Math.max(askedAtMs, this.#wiring.contact.lastHeardAtMs) + Math.max(this.#wiring.ttlMs, IN_LINE_MS) - nowMs
  }
}
