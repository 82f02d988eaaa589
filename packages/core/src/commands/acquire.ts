import type { Acquire } from '../command.ts'
import { recipientOf } from '../event.ts'
import { type OperationPolicy, rowOf } from '../policy.ts'
import { type AcquireReply, type Queued, refused, type Skip } from '../reply.ts'
import { type Ask, arbitrate, isUse, skipped } from '../rules/arbitrate.ts'
import { blockingGrant, isPaused } from '../rules/blocking.ts'
import { isInDoubt } from '../rules/contradiction.ts'
import { leave } from '../rules/go-on.ts'
import { enter, granted, grantNow, leaseOf } from '../rules/grant.ts'
import { hasItsHalf, overQuota } from '../rules/quota.ts'
import { endedAnswer, keepAnswer, keptAnswer } from '../rules/remembered-asks.ts'
import { grantOf, isNamed, waiterOf } from '../state/actor.ts'
import { appendWaiter, changeLease } from '../state/places.ts'
import { type Grant, SHARED_HOLD, type Waiter } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import { dereference } from './references.ts'

export function acquire(turn: Turn, command: Acquire): AcquireReply {
  if (command.session !== undefined && !turn.sessionAlive) return refused('session-lost')
  const row = rowOf(turn.policy, command)
  if (!row) return refused('unknown-operation')
  // A retry that arrives after its hold has ended must not take a second grant that nobody knows of.
  const ended = endedAnswer(turn, command)
  if (ended) return ended
  dropReference(turn, command)

  // Rule 1: is it granted now?
  const grant = blockingGrant(turn, command.operation)
  if (grant && isNamed(turn, grant, command)) {
    if (grant.operation === command.operation) return enter(turn, grant, command)
    if (!command.classic) return heldByYou(turn, command)
  }
  const answer = keptAnswer(turn, command)
  if (answer) return answer
  const ask = askOf(turn, command)
  const tooMuch = overQuota(turn, { row, ask, command })
  if (tooMuch) return tooMuch
  if (command.verified && !isInDoubt(turn, command.operation)) {
    const skip = skipped(turn, { row, ask, skip: { status: 'skip', fence: 0 } })
    return skippedAtOnce(turn, { row, ask, command, skip })
  }
  if (grant || isPaused(turn, command.operation)) return standInLine(turn, { row, ask, command, grant })

  // Rules 2 to 4: it is free.
  const verdict = arbitrate(turn, ask)
  if (verdict?.status === 'skip') return skippedAtOnce(turn, { row, ask, command, skip: verdict })
  return verdict ?? granted(grantNow(turn, ask, command))
}

/** Once for an ask: a reference that its node has added while it stood in line or held is another use. */
function dropReference(turn: Turn, command: Acquire): void {
  if (!command.dropReference || isUnderWay(turn, command)) return
  dereference(turn, command.node)
}

function isUnderWay(turn: Turn, command: Acquire): boolean {
  const { operation, hold } = command
  if (hold === SHARED_HOLD) return false
  const grant = grantOf(turn, operation, command)
  if (grant) return grant.holds.has(hold) || grant.hold === hold
  return waiterOf(turn, operation, command)?.hold === hold
}

/** It would wait for itself. Its place, if it has one, goes: it would be granted to one that does not want it any more. */
function heldByYou(turn: Turn, command: Acquire): AcquireReply {
  const waiter = waiterOf(turn, command.operation, command)
  if (waiter?.hold === command.hold) leave(turn, waiter)
  return refused('held-by-you')
}

/** A late duplicate would reference the node once more, perhaps after that has let go of it: so it is remembered. */
function skippedAtOnce(
  turn: Turn,
  { row, ask, command, skip }: { row: OperationPolicy; ask: Ask; command: Acquire; skip: Skip },
): Skip {
  if (command.hold !== SHARED_HOLD && isUse(row, ask)) keepAnswer(turn, command, skip)
  return skip
}

/**
 * Disbelief is of what is kept when the request is made: a success that comes while it waits is believed. So no
 * request can disbelieve more than that, whatever number it gives.
 */
function askOf({ resource }: Turn, command: Acquire): Ask {
  const { operation, node, revision, disbelieve, verifies, classic } = command
  const keptFence = resource.kept.get(operation)?.fence ?? 0
  return {
    operation,
    node,
    revision,
    disbelieved: disbelieve === undefined ? undefined : Math.min(disbelieve, keptFence),
    reference: command.reference ?? true,
    verifies: verifies || undefined,
    classic: classic || undefined,
  }
}

function standInLine(
  turn: Turn,
  { row, ask, command, grant }: { row: OperationPolicy; ask: Ask; command: Acquire; grant: Grant | undefined },
): AcquireReply {
  const { resource, policy, nowMs } = turn
  const { operation, owner, hold, waitMs } = command
  const lease = leaseOf(turn, command, command.placeTtlMs)
  const present = waiterOf(turn, operation, command)
  if (present) {
    changeLease(turn, present, lease)
    return queued(resource.waiters.position(present), grant)
  }

  const queueing = command.queueing ?? row.queueing ?? policy.queueing
  if (!queueing || waitMs === 0) return refused('busy')
  if (!turn.mayQueue || resource.waiters.count(operation) >= policy.queueLimit) return refused('queue-full')
  if (hasItsHalf(turn, ask)) return refused('quota-exceeded')

  const waiter: Waiter = {
    operation,
    node: ask.node,
    revision: ask.revision,
    disbelieved: ask.disbelieved,
    reference: ask.reference,
    verifies: ask.verifies,
    classic: ask.classic,
    owner,
    hold,
    ticket: ++resource.ticket,
    sinceMs: nowMs,
    disbelieve: command.disbelieve,
    waitUntilMs: waitMs === undefined ? undefined : nowMs + waitMs,
    lease,
  }
  appendWaiter(turn, waiter)
  const position = resource.waiters.position(waiter)
  const { namespace, id } = resource
  const { node, revision } = waiter
  const to = [recipientOf(waiter, lease.session)]
  turn.emit({ type: 'queued', namespace, resource: id, atMs: nowMs, operation, node, owner, position, revision }, to)
  return queued(position, grant)
}

/** How a place in line is told: with how far the holder of the blocking grant is. */
export function queued(position: number, grant: Grant | undefined): Queued {
  return { status: 'queued', position, ...(grant?.progress !== undefined && { progress: grant.progress }) }
}
