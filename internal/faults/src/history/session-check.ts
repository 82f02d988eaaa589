import type { SessionRecord, StepRecord } from './history.ts'
import type { Violation } from './violation.ts'

interface LiveSession {
  /** It was renewed at some moment from the first to the second. */
  readonly renewedMs: readonly [number, number]
  readonly ttlMs: number
  /** When somebody asked for its end: it may have come since. */
  endingMs?: number
  /** When it had ended. */
  endedMs?: number
}

export interface SessionCheckOptions {
  /** A session may outlast its ttl, until somebody is told of its end: its store counts as it likes, but never too short. */
  readonly doSessionsEndLate?: boolean | undefined
}

/** What nobody answered may take effect for so long: its server, or the database, may have stood still meanwhile. */
const LATE_MS = 30_000

/** A session ends no earlier than its last renewal plus its ttl, and stays ended. */
export class SessionCheck {
  readonly #violations: Violation[]
  readonly #doSessionsEndLate: boolean
  readonly #sessions = new Map<string, LiveSession>()
  /** When each opening or renewal was asked for that has not been answered. */
  readonly #unanswered = new Map<string, Set<number>>()

  constructor(violations: Violation[], { doSessionsEndLate = false }: SessionCheckOptions = {}) {
    this.#violations = violations
    this.#doSessionsEndLate = doSessionsEndLate
  }

  take(record: SessionRecord): void {
    const { session, what, askedMs, nowMs } = record
    const known = this.#sessions.get(session)
    switch (what) {
      case 'asked':
        this.#unanswered.set(session, (this.#unanswered.get(session) ?? new Set()).add(askedMs))
        break
      case 'opened':
      case 'renewed':
        this.#unanswered.get(session)?.delete(askedMs)
        this.#renewed(record, known)
        break
      case 'refused':
        this.#unanswered.get(session)?.delete(askedMs)
        break
      case 'ending':
      case 'ended':
        if (!known) return
        known.endingMs ??= askedMs
        if (what === 'ended') known.endedMs = nowMs
    }
  }

  /** A server was away: its store may give everybody who was alive its time once more, from now on or a little later. */
  startAnew(sinceMs = 0): void {
    for (const [session, known] of this.#sessions) {
      const renewedMs = [Math.max(known.renewedMs[0], sinceMs), Infinity] as const
      if (known.endingMs === undefined) this.#sessions.set(session, { ...known, renewedMs })
    }
  }

  takeStep({ command, nowMs, wallMs = nowMs, resource }: StepRecord): void {
    if (command.type === 'recover') this.startAnew(wallMs)
    if (command.type !== 'session-lost') return
    const known = this.#sessions.get(command.session)
    if (!known) return
    known.endedMs = Math.min(known.endedMs ?? Infinity, wallMs)
    if (known.endingMs !== undefined || wallMs >= known.renewedMs[0] + known.ttlMs) return
    const what = `session ${command.session} was ended before its time`
    this.#violations.push({ invariant: 10, resource, what })
  }

  #renewed({ session, what, askedMs, nowMs, ttlMs }: SessionRecord, known: LiveSession | undefined): void {
    // A renewal that was asked for before the end may be answered after it, as a store answers when it is durable.
    if (what === 'renewed' && known && askedMs >= this.#endOf(session, known))
      this.#violations.push({ invariant: 10, resource: '', what: `session ${session} was renewed after its end` })
    const ends = what === 'renewed' ? { endingMs: known?.endingMs, endedMs: known?.endedMs } : {}
    this.#sessions.set(session, { renewedMs: [askedMs, nowMs], ttlMs, ...ends })
  }

  /** When it had ended at the latest. */
  #endOf(session: string, { endedMs = Infinity, renewedMs, ttlMs }: LiveSession): number {
    if (this.#doSessionsEndLate) return endedMs
    const lateMs = [...(this.#unanswered.get(session) ?? [])].map((askedMs) => askedMs + LATE_MS)
    return Math.min(endedMs, Math.max(renewedMs[1], ...lateMs) + ttlMs)
  }
}
