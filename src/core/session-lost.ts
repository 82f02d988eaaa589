import type { Leave, SessionLost } from './command.ts'
import { endGrant } from './end.ts'
import { loseHolds, passOver } from './expire.ts'
import { leave } from './go-on.ts'
import type { DoneReply } from './reply.ts'
import type { Turn } from './turn.ts'

/** What hung off the session under this key and owner goes: with the session itself, or because it gives it up. */
export function sessionLost(turn: Turn, { type, session, operation, owner }: SessionLost | Leave): DoneReply {
  const { resource } = turn
  const waiter = resource.waiters.find(operation, owner)
  if (waiter?.lease.session === session) leave(turn, waiter)

  const grant = resource.grants.get(operation)
  if (grant?.owner === owner) {
    if (grant.claimByMs === undefined) {
      const lost = [...grant.holds].filter(([, lease]) => lease.session === session).map(([hold]) => hold)
      loseHolds(turn, { grant, holds: lost, left: type === 'leave' })
    } else if (grant.unclaimedLease!.session === session) {
      if (type === 'leave') endGrant(turn, grant, { outcome: 'cancelled' })
      else passOver(turn, grant)
    }
  }
  return { status: 'done' }
}
