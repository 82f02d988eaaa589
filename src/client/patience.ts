import type { WhenUnavailable } from './api.ts'
import { FIRST_CONTACT_MS } from './contact.ts'
import type { Wiring } from './wiring.ts'

/** How long one that does not wait gives a server to say so. */
const ANSWER_MS = 1_000

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
    this.waitMs = waitMs === Infinity ? undefined : waitMs
    this.#wiring = wiring
    this.#whenUnavailable = whenUnavailable
    this.#startMs = wiring.clock.monoMs()
  }

  /** What is left of the wait limit, for one that has asked then. Who does not wait still needs an answer. */
  leftMs(askedAtMs: number): number {
    if (this.waitMs === undefined) return Infinity
    const nowMs = this.#wiring.clock.monoMs()
    return this.waitMs === 0 ? askedAtMs + ANSWER_MS - nowMs : this.#startMs + this.waitMs - nowMs
  }

  /** How much longer it may stand in line. */
  waitLeftMs(): number {
    return this.leftMs(this.#startMs)
  }

  isOver(): boolean {
    return this.waitMs !== 0 && this.waitLeftMs() <= 0
  }

  /** For how long an ask may go on unanswered. Once it is in line, it may have been granted and has more to lose. */
  unansweredLeftMs({ inLine, askedAtMs }: { inLine: boolean; askedAtMs: number }): number {
    const untilMs = this.#bearsUntilMs({ inLine, askedAtMs })
    const leftMs = this.leftMs(askedAtMs)
    return untilMs === Infinity ? leftMs : Math.min(leftMs, untilMs - this.#wiring.clock.monoMs())
  }

  #bearsUntilMs({ inLine, askedAtMs }: { inLine: boolean; askedAtMs: number }): number {
    if (this.#whenUnavailable === 'wait') return Infinity
    if (!inLine) return askedAtMs + FIRST_CONTACT_MS
    return Math.max(askedAtMs, this.#wiring.contact.lastHeardAtMs) + Math.max(this.#wiring.ttlMs, IN_LINE_MS)
  }
}
