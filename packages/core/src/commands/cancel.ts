import type { Cancel } from '../command.ts'
import { type CancelReply, refused } from '../reply.ts'
import { endGrant } from '../rules/end.ts'
import { leave } from '../rules/go-on.ts'
import { keepAnswer } from '../rules/remembered-asks.ts'
import { grantOf, isOnlyOthers, waiterOf } from '../state/actor.ts'
import type { Turn } from '../turn.ts'
import { releaseHold } from './release.ts'

export function cancel(turn: Turn, command: Cancel): CancelReply {
  const { operation, hold } = command
  if (isOnlyOthers(turn, operation, command)) return refused('forbidden')
  const grant = grantOf(turn, operation, command)
  const waiter = waiterOf(turn, operation, command, (each) => each.hold === hold)
  // The ask itself may still be on its way: when it arrives, it finds that it was taken back. A pattern stands for its nodes.
  const nodes = command.node === undefined ? (turn.actsFor ?? [undefined]) : [command.node]
  for (const node of nodes) keepAnswer(turn, { ...command, node }, refused('cancelled'))

  if (grant?.holds.has(hold)) {
    releaseHold(turn, { grant, hold, outcome: { outcome: 'cancelled' } })
    return { status: 'cancelled', was: 'granted' }
  }
  if (grant?.claimByMs !== undefined && grant.hold === hold) {
    endGrant(turn, grant, { outcome: 'cancelled' })
    return { status: 'cancelled', was: 'granted' }
  }
  if (waiter) {
    leave(turn, waiter)
    return { status: 'cancelled', was: 'queued' }
  }
  return { status: 'cancelled', was: 'nothing' }
}
