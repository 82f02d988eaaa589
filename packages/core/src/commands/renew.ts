import type { Renew } from '../command.ts'
import { type RenewReply, refused } from '../reply.ts'
import { renewed } from '../rules/grant.ts'
import { grantOf, isOnlyOthers, waiterOf } from '../state/actor.ts'
import { changeLease } from '../state/places.ts'
import type { Turn } from '../turn.ts'

export function renew(turn: Turn, command: Renew): RenewReply {
  const { operation, fence } = command
  const grant = grantOf(turn, operation, command)
  if (grant) {
    if (grant.claimByMs !== undefined) {
      // Not yet claimed: the place in line is what lives on. The claim time runs all the same.
      grant.unclaimedLease = renewed(turn, grant.unclaimedLease!)
      return renewedReply(grant.unclaimedLease.ttlMs)
    }
    return fence === grant.fence ? renewedReply(grant.holds.renew(turn.nowMs)) : refused('stale-fence')
  }
  const waiter = waiterOf(turn, operation, command)
  if (waiter) {
    changeLease(turn, waiter, renewed(turn, waiter.lease))
    return renewedReply(waiter.lease.ttlMs)
  }
  if (isOnlyOthers(turn, operation, command)) return refused('forbidden')
  return refused(turn.resource.grants.has(operation) ? 'not-holder' : 'unknown-grant')
}

function renewedReply(expiresInMs: number | undefined): RenewReply {
  return { status: 'renewed', ...(expiresInMs !== undefined && { expiresInMs }) }
}
