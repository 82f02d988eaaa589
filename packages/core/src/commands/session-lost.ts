import type { Leave, SessionLost } from '../command.ts'
import type { DoneReply } from '../reply.ts'
import { endGrant } from '../rules/end.ts'
import { loseHolds, passOver } from '../rules/expire.ts'
import { leave } from '../rules/go-on.ts'
import { grantOf, isNamed } from '../state/actor.ts'
import type { Turn } from '../turn.ts'

/** What hung off the session under this key and owner goes: with the session itself, or because it gives it up. */
export function sessionLost(turn: Turn, command: SessionLost | Leave): DoneReply {
  const { type, session, operation, owner } = command
  const { resource } = turn
  for (const waiter of resource.waiters.ofOwner(operation, owner))
    if (waiter.lease.session === session && isNamed(turn, waiter, command)) leave(turn, waiter)

  const grant = grantOf(turn, operation, command)
  if (grant?.claimByMs !== undefined) {
    if (grant.unclaimedLease!.session !== session) return { status: 'done' }
    if (type === 'leave') endGrant(turn, grant, { outcome: 'cancelled' })
    else passOver(turn, grant)
  } else if (grant) {
    loseHolds(turn, { grant, holds: grant.holds.ofSession(session), left: type === 'leave' })
  }
  return { status: 'done' }
}
