import { renewed } from '../rules/grant.ts'
import { changeLease } from '../state/places.ts'
import type { Turn } from '../turn.ts'

/**
 * The store was away, and nobody could renew anything meanwhile. So before any deadline is looked at, every lease is
 * given its whole time once more, and every grant that waits to be claimed its claim time; sessions get the same from
 * their store. What is kept or limited by the clock on the wall (successes, wait limits, retry delays) goes on by it.
 */
export function recover(turn: Turn): void {
  const { resource, policy, nowMs } = turn
  for (const grant of resource.grants.values()) {
    grant.holds.renew(nowMs)
    if (grant.claimByMs === undefined) continue
    grant.claimByMs = nowMs + policy.claimMs
    grant.unclaimedLease = renewed(turn, grant.unclaimedLease!)
  }
  for (const waiter of resource.waiters.list(Infinity)) {
    changeLease(turn, waiter, renewed(turn, waiter.lease))
  }
}
