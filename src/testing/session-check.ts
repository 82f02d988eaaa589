import type { SessionRecord, StepRecord } from './history.ts'
import type { Violation } from './violation.ts'

interface LiveSession {
  /** It was renewed at some moment from the first to the second. */
  readonly renewedMs: readonly [number, number]
  readonly ttlMs: number
  /** When somebody asked for its end. */
  endedMs?: number
}

/** A session ends no earlier than its last renewal plus its ttl, and stays ended. */
export class SessionCheck {
  readonly #violations: Violation[]
  readonly #sessions = new Map<string, LiveSession>()

  constructor(violations: Violation[]) {
    this.#violations = violations
  }

  take({ session, what, askedMs, nowMs, ttlMs }: SessionRecord): void {
    const known = this.#sessions.get(session)
    if (what === 'opened' || what === 'renewed') {
      // A renewal that was asked for before the end may be answered after it, as a store answers when it is durable.
      const endMs = known ? Math.min(known.endedMs ?? Infinity, known.renewedMs[1] + known.ttlMs) : Infinity
      const over = what === 'renewed' && askedMs >= endMs
      if (over)
        this.#violations.push({ invariant: 10, resource: '', what: `session ${session} was renewed after its end` })
      const endedMs = what === 'renewed' ? known?.endedMs : undefined
      this.#sessions.set(session, { renewedMs: [askedMs, nowMs], ttlMs, endedMs })
    } else if (what === 'ended' && known) known.endedMs = nowMs
  }

  /** A server was away: its store may give everybody who was alive its time once more, from now on or a little later. */
  startAnew(sinceMs = 0): void {
    for (const [session, known] of this.#sessions) {
      const renewedMs = [Math.max(known.renewedMs[0], sinceMs), Infinity] as const
      if (known.endedMs === undefined) this.#sessions.set(session, { ...known, renewedMs })
    }
  }

  takeStep({ command, nowMs, resource }: StepRecord): void {
    if (command.type === 'recover') this.startAnew(nowMs)
    if (command.type !== 'session-lost') return
    const known = this.#sessions.get(command.session)
    if (!known || known.endedMs !== undefined || nowMs >= known.renewedMs[0] + known.ttlMs) return
    const what = `session ${command.session} was ended before its time`
    this.#violations.push({ invariant: 10, resource, what })
  }
}
