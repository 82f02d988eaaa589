import type { Cancel } from './command.ts'
import { endGrant } from './end.ts'
import { keepAnswer, leave } from './go-on.ts'
import { releaseHold } from './release.ts'
import { type CancelReply, refused } from './reply.ts'
import type { Turn } from './turn.ts'

export function cancel(turn: Turn, { operation, owner, hold }: Cancel): CancelReply {
  const { resource } = turn
  const grant = resource.grants.get(operation)
  const waiter = resource.waiters.find(operation, owner)
  // The ask itself may still be on its way: when it arrives, it finds that it was taken back.
  keepAnswer(turn, { operation, owner, hold, revision: undefined, disbelieve: undefined }, refused('cancelled'))

  if (grant?.owner === owner && grant.holds.has(hold)) {
    releaseHold(turn, { grant, hold, outcome: { outcome: 'cancelled' } })
    return { status: 'cancelled', was: 'granted' }
  }
  if (grant?.owner === owner && grant.claimByMs !== undefined && grant.hold === hold) {
    endGrant(turn, grant, { outcome: 'cancelled' })
    return { status: 'cancelled', was: 'granted' }
  }
  if (waiter?.hold === hold) {
    leave(turn, waiter)
    return { status: 'cancelled', was: 'queued' }
  }
  return { status: 'cancelled', was: 'nothing' }
}
