import type { SessionLost } from './command.ts'
import { loseHolds, passOver } from './expire.ts'
import { leave } from './go-on.ts'
import type { DoneReply } from './reply.ts'
import type { Turn } from './turn.ts'

export function sessionLost(turn: Turn, { session, operation, owner }: SessionLost): DoneReply {
  const { resource } = turn
  const waiter = resource.waiters.find(operation, owner)
  if (waiter?.lease.session === session) leave(turn, waiter)

  const grant = resource.grants.get(operation)
  if (grant?.owner === owner) {
    if (grant.claimByMs === undefined) {
      const lost = [...grant.holds].filter(([, lease]) => lease.session === session).map(([hold]) => hold)
      loseHolds(turn, grant, lost)
    } else if (grant.unclaimedLease?.session === session) passOver(turn, grant)
  }
  return { status: 'done' }
}
