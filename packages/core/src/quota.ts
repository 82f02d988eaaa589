import { waiterOf } from './actor.ts'
import { type Ask, isUse } from './arbitrate.ts'
import type { Acquire } from './command.ts'
import { CORE_LIMITS } from './limits.ts'
import type { OperationPolicy } from './policy.ts'
import { mayReference } from './references.ts'
import { type Refused, refused } from './reply.ts'
import type { Grant } from './state.ts'
import type { Turn } from './turn.ts'

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
