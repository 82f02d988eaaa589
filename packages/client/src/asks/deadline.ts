import type { WhenUnavailable } from '../api.ts'
import type { ClientParts } from '../client-parts.ts'
import { FIRST_CONTACT_MS } from '../requests/sender.ts'

/** With `waitMs: 0`, how long the reply may take. */
const REPLY_MS = 1_000

/** How long a waiter tolerates that no server answers, unless it is to wait for one. */
const IN_QUEUE_MS = 30_000

/** Until when a call may wait for its grant, and how long it may go on without an answer. */
export class Deadline {
  /** How long it may wait in the queue; `undefined` for no limit, 0 for not at all. */
  readonly waitMs: number | undefined
  readonly #client: ClientParts
  readonly #whenUnavailable: WhenUnavailable
  readonly #startMs: number

  constructor(client: ClientParts, waitMs: number | undefined, whenUnavailable: WhenUnavailable) {
    this.waitMs = waitMs === Infinity ? undefined : waitMs
    this.#client = client
    this.#whenUnavailable = whenUnavailable
    this.#startMs = client.clock.monoMs()
  }

  /** What is left for a request that began then. `waitMs: 0` still allows time for the reply. */
  leftMs(requestedAtMs: number): number {
    if (this.waitMs === undefined) return Infinity
    const nowMs = this.#client.clock.monoMs()
    return this.waitMs === 0 ? requestedAtMs + REPLY_MS - nowMs : this.#startMs + this.waitMs - nowMs
  }

  /** How much longer it may wait in the queue. */
  waitLeftMs(): number {
    return this.leftMs(this.#startMs)
  }

  isOver(): boolean {
    return this.waitMs !== 0 && this.waitLeftMs() <= 0
  }

  /** How long a request may go on without a reply. One in the queue may have been granted, and has more to lose. */
  unansweredLeftMs({ inQueue, requestedAtMs }: { inQueue: boolean; requestedAtMs: number }): number {
    const leftMs = this.leftMs(requestedAtMs)
    if (this.#whenUnavailable === 'wait') return leftMs
    const { clock, sender, ttlMs } = this.#client
    const endMs = inQueue
      ? Math.max(requestedAtMs, sender.lastSignMs) + Math.max(ttlMs, IN_QUEUE_MS)
      : requestedAtMs + FIRST_CONTACT_MS
    return Math.min(leftMs, endMs - clock.monoMs())
  }
}
