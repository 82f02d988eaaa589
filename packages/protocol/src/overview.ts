import type { Outcome } from '@baton-lock/core'

/**
 * One grant as the timeline of a resource shows it. One that lives has no end. One with an end and no outcome has ended at that
 * time at the latest, and how was not heard.
 */
export interface PastGrant {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly attempt: number
  readonly grantedAtMs: number
  /** Of a hand-over: when it was claimed. */
  readonly claimedAtMs?: number
  readonly endedAtMs?: number
  readonly outcome?: Outcome['outcome']
  /** Of a failure, and of what ran out or was revoked. */
  readonly error?: string
  /** It went to one who had waited, for so long where that is known. */
  readonly handOver: boolean
  readonly waitedMs?: number
  /** How many have skipped on its success, as far as this server knows. */
  readonly skips: number
}

/** What was counted since the server began, or in one piece of time. */
export interface Tally {
  readonly grants: number
  readonly handOvers: number
  /** Those who were told that the work had been done: work that was saved. */
  readonly skips: number
  readonly successes: number
  readonly failures: number
  readonly expired: number
}

/** One piece of the last minutes. */
export interface OverviewPoint extends Tally {
  /** When it began. */
  readonly atMs: number
  /** How many waited when it ended. */
  readonly waiting: number
  /** How long those had waited who were granted or told in it; absent where nobody was. */
  readonly waitedMs?: { readonly p50: number; readonly p95: number; readonly p99: number }
}

/** How a server is doing, as far as it has seen. */
export interface Overview {
  readonly nowMs: number
  /** When the server began to count. */
  readonly sinceMs: number
  readonly version: string
  readonly storeId: string
  /** Of the whole store; absent where one namespace was asked for. */
  readonly counts?: {
    readonly resources: number
    readonly grants: number
    readonly waiters: number
    readonly sessions: number
  }
  readonly totals: Tally
  /** How long a point is. */
  readonly stepMs: number
  /** Oldest first; the last one is still going on. */
  readonly points: readonly OverviewPoint[]
}
