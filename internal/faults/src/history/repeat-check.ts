import { SHARED_HOLD } from '@baton-lock/core'
import type { StepRecord } from './history.ts'
import type { Violation } from './violation.ts'

/** For so long a repetition is recognised. */
const KNOWN_MS = 60_000

/**
 * A repeated ask or release of a hold that was released gets the same answer and changes nothing, for a minute. Whatever was
 * acknowledged meanwhile: what was forgotten on that account must not be repeated.
 */
export class RepeatCheck {
  readonly #violations: Violation[]
  /** By ask: when it was released, with which fence. */
  readonly #released = new Map<string, { readonly nowMs: number; readonly fence: number | undefined }>()

  constructor(violations: Violation[]) {
    this.#violations = violations
  }

  takeStep({ namespace, resource, nowMs, command, facts, reply }: StepRecord): void {
    if ((command.type !== 'acquire' && command.type !== 'release') || command.hold === SHARED_HOLD) return
    const { type, operation, node, owner, hold } = command
    // One that names no node may mean several actors.
    if (node === undefined || facts?.actsFor) return
    const name = JSON.stringify([namespace, resource, operation, node, owner, hold])
    const before = this.#released.get(name)
    const isKnown = before !== undefined && nowMs < before.nowMs + KNOWN_MS
    if (type === 'acquire') {
      if (isKnown && (reply.status === 'granted' || reply.status === 'queued'))
        this.#violated(resource, `${owner} released hold ${hold} of ${operation}, and then it was ${reply.status} anew`)
    } else if (reply.status === 'released') {
      if (!isKnown) this.#released.set(name, { nowMs, fence: command.fence })
    } else if (isKnown && command.fence === before.fence)
      this.#violated(
        resource,
        `the release of hold ${hold} of ${operation} by ${owner} was refused when it was repeated`,
      )
  }

  #violated(resource: string, what: string): void {
    this.#violations.push({ invariant: 14, resource, what })
  }
}
