import type { Overview, PastGrant } from '../protocol/index.ts'
import type { Address, StoreEvent } from '../stores/store.ts'

/** What a service has seen happen: for people who look at it, and for those who measure it. */
export class Statistics {
  /** An event of the store, of whichever process. */
  see(_event: StoreEvent): void {}

  /** An ask that was answered at once: the work had been done, with this fence. */
  skipped(_address: Address, _ask: { readonly operation: string; readonly fence: number }): void {}

  /** How long an operation is usually held; nothing where too little of it was seen. */
  usualMs(_namespace: string, _operation: string): number | undefined {
    return undefined
  }

  /** The last grants of a resource, oldest first. */
  timeline(_address: Address): readonly PastGrant[] {
    return []
  }

  overview(_namespace: string | undefined, nowMs: number): Pick<Overview, 'sinceMs' | 'totals' | 'stepMs' | 'points'> {
    const totals = { grants: 0, handOvers: 0, skips: 0, successes: 0, failures: 0, expired: 0 }
    return { sinceMs: nowMs, totals, stepMs: 5_000, points: [] }
  }
}
