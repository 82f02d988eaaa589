import type { Acquire } from '../command.ts'
import { type Event, recipientOf } from '../event.ts'
import { type Granted, type PreviousAttempt, type Refused, refused } from '../reply.ts'
import { Holds } from '../state/holds.ts'
import type { Lease } from '../state/lease.ts'
import { addHold, noteSession } from '../state/places.ts'
import { type Grant, toWrite, type Waiter } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import type { Ask } from './arbitrate.ts'
import { mayEnter } from './quota.ts'

/** Which try this is, and how the one before it ended. */
export interface Attempt {
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined
}

export const firstAttempt: Attempt = { attempt: 1, previous: undefined }

/** Rule 4 for one that has just asked: it has its hold at once. */
export function grantNow(turn: Turn, ask: Ask, command: Acquire): Grant {
  const grant = newGrant(turn, ask, { by: command, attempt: firstAttempt })
  const lease = leaseOf(turn, command)
  addHold(turn, grant, command.hold, lease)
  announce(turn, grant, { session: lease.session, handOver: false })
  return grant
}

/** Rule 4 for one that waited: the grant is its own, but it has to claim it. */
export function grantToWaiter(turn: Turn, waiter: Waiter, attempt: Attempt): void {
  const grant = newGrant(turn, waiter, { by: waiter, attempt })
  noteSession(turn, grant, waiter.lease.session)
  grant.claimByMs = turn.nowMs + turn.policy.claimMs
  grant.unclaimedLease = waiter.lease
  announce(turn, grant, { session: waiter.lease.session, handOver: true, waitedMs: turn.nowMs - waiter.sinceMs })
}

/** The same owner once more: a retry, a claim or one more hold. The fence stays, the lease is renewed. */
export function enter(turn: Turn, grant: Grant, command: Acquire): Granted | Refused {
  if (!mayEnter(turn, grant, command.hold)) return refused('quota-exceeded')
  grant.holds.renew(turn.nowMs)
  addHold(turn, grant, command.hold, leaseOf(turn, command))
  if (grant.claimByMs !== undefined) {
    noteSession(turn, grant, grant.unclaimedLease!.session)
    grant.claimByMs = undefined
    grant.unclaimedLease = undefined
    const { namespace, id } = turn.resource
    const { operation, node, owner, fence } = grant
    const to = [recipientOf({ operation, node, owner, hold: command.hold }, command.session)]
    turn.emit({ type: 'claimed', namespace, resource: id, atMs: turn.nowMs, operation, node, owner, fence }, to)
  }
  return granted(grant)
}

export function granted(grant: Grant): Granted {
  const { fence, attempt, previous, holds } = grant
  if (!previous) return { status: 'granted', fence, attempt, holds: holds.size }
  return { status: 'granted', fence, attempt, previous, holds: holds.size }
}

/** A lease that hangs off a session is renewed with the session, not here. */
export function renewed({ nowMs }: Turn, lease: Lease): Lease {
  return lease.ttlMs === undefined ? lease : { expiresAtMs: nowMs + lease.ttlMs, ttlMs: lease.ttlMs }
}

export function leaseOf(turn: Turn, command: Acquire, ttlMs: number = command.ttlMs): Lease {
  return command.session === undefined ? { expiresAtMs: turn.nowMs + ttlMs, ttlMs } : { session: command.session }
}

function newGrant(turn: Turn, ask: Ask, { by, attempt }: { by: Asking; attempt: Attempt }): Grant {
  const { resource, nowMs, fenceFloor } = turn
  resource.fence = Math.max(resource.fence, fenceFloor) + 1
  const grant: Grant = {
    operation: ask.operation,
    owner: by.owner,
    node: ask.node,
    fence: resource.fence,
    revision: ask.revision,
    sinceMs: nowMs,
    attempt: attempt.attempt,
    previous: attempt.previous,
    reference: ask.reference,
    hold: by.hold,
    disbelieve: by.disbelieve,
    classic: ask.classic,
    claimByMs: undefined,
    unclaimedLease: undefined,
    holds: new Holds(),
    progress: undefined,
  }
  toWrite(resource, 'grants').set(grant.operation, grant)
  return grant
}

/** The request, as it came or as it stood in line. */
type Asking = Pick<Waiter, 'owner' | 'hold'> & { readonly disbelieve?: number | undefined }

function announce(
  turn: Turn,
  grant: Grant,
  { session, handOver, waitedMs }: { session: string | undefined; handOver: boolean; waitedMs?: number },
): void {
  const event: Event = {
    type: 'granted',
    namespace: turn.resource.namespace,
    resource: turn.resource.id,
    atMs: turn.nowMs,
    operation: grant.operation,
    node: grant.node,
    owner: grant.owner,
    fence: grant.fence,
    attempt: grant.attempt,
    handOver,
    waitedMs,
    revision: grant.revision,
  }
  turn.emit(event, [recipientOf(grant, session)])
}
