import { type Ask, arbitrate, skipped } from './arbitrate.ts'
import type { Acquire } from './command.ts'
import { enter, granted, grantNow, leaseOf } from './grant.ts'
import { grantInTheWay, isPaused } from './in-the-way.ts'
import { type OperationPolicy, operationOf } from './policy.ts'
import { dereference } from './references.ts'
import { type AcquireReply, type Answer, refused } from './reply.ts'
import { askName, revisionOf, SHARED_HOLD, type Waiter } from './state.ts'
import type { Turn } from './turn.ts'

export function acquire(turn: Turn, command: Acquire): AcquireReply {
  const row = operationOf(turn.policy, command.operation)
  if (!row) return refused('unknown-operation')
  if (command.dropReference) dereference(turn, command.node)
  if (hasEnded(turn, command)) return refused('hold-ended')

  // Rule 1: is it granted now?
  const grant = grantInTheWay(turn, command.operation)
  if (grant?.owner === command.owner) {
    return grant.operation === command.operation ? enter(turn, grant, command) : refused('held-by-you')
  }
  const answer = keptAnswer(turn, command)
  if (answer) return answer
  const ask = askOf(turn, command)
  if (command.verified) return skipped(turn, { row, ask, skip: { status: 'skip', fence: 0 } })
  if (grant || isPaused(turn, command.operation)) return standInLine(turn, { row, ask, command })

  // Rules 2 to 4: it is free.
  return arbitrate(turn, ask) ?? granted(grantNow(turn, ask, command))
}

/** A retry that arrives after its hold was released must not take a second grant that nobody knows of. */
function hasEnded({ resource }: Turn, { operation, owner, hold }: Acquire): boolean {
  return hold !== SHARED_HOLD && resource.released.get(askName(operation, owner, hold)) !== undefined
}

/** What this very ask was told when it waited. An ask that says anything else is a new one. */
function keptAnswer({ resource }: Turn, command: Acquire): Answer | undefined {
  const name = askName(command.operation, command.owner, command.hold)
  const kept = resource.answers.get(name)
  if (!kept) return undefined
  const { answer } = kept
  if (answer.status === 'refused' && answer.code === 'cancelled') return answer
  if (kept.revision === command.revision && kept.disbelieve === command.disbelieve) return answer
  resource.answers.delete(name)
  return undefined
}

/**
 * Disbelief is of what is kept when the request is made: a success that comes while it waits is believed. So no
 * request can disbelieve more than that, whatever number it gives.
 */
function askOf({ resource }: Turn, command: Acquire): Ask {
  const { operation, node, revision, disbelieve } = command
  const keptFence = resource.kept.get(operation)?.fence ?? 0
  return {
    operation,
    node,
    revision,
    disbelieved: disbelieve === undefined ? undefined : Math.min(disbelieve, keptFence),
    reference: command.reference ?? true,
  }
}

function standInLine(
  turn: Turn,
  { row, ask, command }: { row: OperationPolicy; ask: Ask; command: Acquire },
): AcquireReply {
  const { resource, policy, nowMs, events } = turn
  const { operation, owner, hold, waitMs } = command
  const lease = leaseOf(turn, command, command.placeTtlMs)
  const present = resource.waiters.find(operation, owner)
  if (present) {
    present.lease = lease
    resource.waiters.renewed(present)
    return { status: 'queued', position: resource.waiters.position(present) }
  }

  const queueing = command.queueing ?? row.queueing ?? policy.queueing
  if (!queueing || waitMs === 0) return refused('busy')
  if (resource.waiters.count(operation) >= policy.queueLimit) return refused('queue-full')

  const waiter: Waiter = {
    ...ask,
    owner,
    hold,
    ticket: ++resource.ticket,
    sinceMs: nowMs,
    disbelieve: command.disbelieve,
    waitUntilMs: waitMs === undefined ? undefined : nowMs + waitMs,
    lease,
  }
  resource.waiters.append(waiter)
  const position = resource.waiters.position(waiter)
  const asker = { owner, node: ask.node, hold, session: lease.session }
  events.push({ type: 'queued', operation, asker, position, ...revisionOf(ask) })
  return { status: 'queued', position }
}
