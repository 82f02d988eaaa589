import type { Renew } from './command.ts'
import { renewed, renewImplicit } from './grant.ts'
import { type RenewReply, refused } from './reply.ts'
import type { Turn } from './turn.ts'

export function renew(turn: Turn, { operation, owner, fence }: Renew): RenewReply {
  const { resource } = turn
  const grant = resource.grants.get(operation)
  if (grant?.owner === owner) {
    if (grant.claimByMs !== undefined) {
      // Not yet claimed: the place in line is what lives on. The claim time runs all the same.
      grant.unclaimedLease = renewed(turn, grant.unclaimedLease!)
      return renewedReply(grant.unclaimedLease.ttlMs)
    }
    return fence === grant.fence ? renewedReply(renewImplicit(turn, grant)) : refused('stale-fence')
  }
  const waiter = resource.waiters.find(operation, owner)
  if (!waiter) return refused(grant ? 'not-holder' : 'unknown-grant')
  waiter.lease = renewed(turn, waiter.lease)
  resource.waiters.renewed(waiter)
  return renewedReply(waiter.lease.ttlMs)
}

function renewedReply(expiresInMs: number | undefined): RenewReply {
  return { status: 'renewed', ...(expiresInMs !== undefined && { expiresInMs }) }
}
