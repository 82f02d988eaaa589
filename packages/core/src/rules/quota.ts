import type { Acquire } from '../command.ts'
import { mayReference } from '../commands/references.ts'
import { CORE_LIMITS } from '../limits.ts'
import type { OperationPolicy } from '../policy.ts'
import { type Refused, refused } from '../reply.ts'
import { waiterOf } from '../state/actor.ts'
import type { Grant } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import { type Ask, isUse } from './arbitrate.ts'

const exceeded: Refused = refused('quota-exceeded')

/** One hold more, by the owner of a grant. A claim is none: its place was there. */
export function mayEnter(turn: Turn, grant: Grant, hold: string): boolean {
  if (grant.claimByMs !== undefined || grant.holds.has(hold)) return true
  return turn.hasRoom && grant.holds.size < CORE_LIMITS.holds
}

/** An ask that neither holds nor waits yet: refused where its node could not have what it may come to. */
export function overQuota(
  turn: Turn,
  { row, ask, command }: { row: OperationPolicy; ask: Ask; command: Acquire },
): Refused | undefined {
  const references = isUse(row, ask) && !mayReference(turn, ask.node)
  if (turn.hasRoom && !references) return undefined
  return waiterOf(turn, command.operation, command) ? undefined : exceeded
}

/**
 * One who is known by a token takes half of a queue at most for each of its nodes. Without tokens anybody may call itself what it
 * likes.
 */
export function hasItsHalf({ resource, policy, actsFor }: Turn, { operation, node }: Ask): boolean {
  if (actsFor === undefined) return false
  const half = Math.ceil(policy.queueLimit / 2)
  return resource.waiters.count(operation) >= half && resource.waiters.countOf(operation, node) >= half
}
