import { queued } from '../commands/acquire.ts'
import { rowOf } from '../policy.ts'
import { type AcquireReply, type Json, type Outcome, type Skip, type Traceparent, traceOf } from '../reply.ts'
import { skipOn } from '../rules/arbitrate.ts'
import { blockingGrant } from '../rules/blocking.ts'
import { isContradicted, isInDoubt } from '../rules/contradiction.ts'
import { granted } from '../rules/grant.ts'
import { lookAtAnswer } from '../rules/remembered-asks.ts'
import type { QueueWait } from '../rules/wait.ts'
import { type ActorName, grantOf, waiterOf } from '../state/actor.ts'
import { sessionsOf } from '../state/places.ts'
import { type Grant, type Resource, revisionOf, type Waiter } from '../state/state.ts'
import { type Context, Turn } from '../turn.ts'

/** Who holds, since when, and how far the work is. */
export interface GrantView {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly sinceMs: number
  readonly attempt: number
  readonly claimed: boolean
  /** Until when it has to be claimed; absent once it is. */
  readonly claimByMs?: number
  readonly holds: number
  /** When its lease ends unless it is renewed, and when it was last renewed; absent where that is not known. */
  readonly expiresAtMs?: number
  readonly renewedAtMs?: number
  readonly revision?: string
  readonly progress?: Json
}

/** Who waits, for what, and since when. */
export interface WaiterView {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly sinceMs: number
  readonly revision?: string
}

/** A success on which those who ask later skip, until `untilMs`. */
export interface KeptView {
  readonly operation: string
  readonly node: string
  readonly fence: number
  readonly atMs: number
  readonly untilMs: number
  readonly revision?: string
  readonly result?: Json
  readonly resultOmitted?: true
  /** The span of the work, where its performer has named one. */
  readonly traceparent?: Traceparent
}

/** How the last grant of an operation ended. */
export interface RecentView {
  readonly operation: string
  readonly node: string
  readonly fence: number
  readonly atMs: number
  readonly outcome: Outcome
  readonly revision?: string
}

/** A queue that goes on only after its retry delay. */
export interface PauseView {
  readonly operation: string
  readonly untilMs: number
  /** The number of the attempt that comes next. */
  readonly attempt: number
}

/** What people and programs see of a resource. Plain JSON. */
export interface ResourceView {
  readonly namespace: string
  readonly resource: string
  readonly fence: number
  readonly grants: readonly GrantView[]
  /** The first of them, oldest first; `waiting` counts all. */
  readonly waiters: readonly WaiterView[]
  readonly waiting: number
  /** The same by operation; none that is empty. */
  readonly queues: readonly { readonly operation: string; readonly waiting: number }[]
  readonly references: readonly string[]
  readonly kept: readonly KeptView[]
  readonly recent: readonly RecentView[]
  readonly pauses: readonly PauseView[]
  /** Why those who wait do, a queue each; absent where nobody waits. */
  readonly why?: readonly QueueWait[]
}

/** Until when a session is alive unless it is renewed, and how long a renewal is good. */
export interface SessionLease {
  readonly expiresAtMs: number
  readonly ttlMs: number
}

/** The sessions that keep the grants of a resource alive, in the order of the grants of its view. */
export function sessionsOfGrants(resource: Resource): readonly (readonly string[])[] {
  return [...resource.grants.values()].map(sessionsOf)
}

/** A view with the leases of these sessions: whatever keeps a grant alive for longest is its lease. */
export function withLeases(
  view: ResourceView,
  sessions: readonly (readonly string[])[],
  leaseOf: (session: string) => SessionLease | undefined,
): ResourceView {
  if (!sessions.some((each) => each.length > 0)) return view
  const grants = view.grants.map((grant, index) => {
    let longest: SessionLease | undefined
    for (const session of sessions[index]!) {
      const lease = leaseOf(session)
      if (lease && lease.expiresAtMs > (longest?.expiresAtMs ?? grant.expiresAtMs ?? 0)) longest = lease
    }
    return longest ? { ...grant, ...leaseView(longest) } : grant
  })
  return { ...view, grants }
}

function leaseView({ expiresAtMs, ttlMs }: SessionLease): Pick<GrantView, 'expiresAtMs' | 'renewedAtMs'> {
  return { expiresAtMs, renewedAtMs: expiresAtMs - ttlMs }
}

function implicitLeaseView(grant: Grant): Pick<GrantView, 'expiresAtMs' | 'renewedAtMs'> {
  const lease = implicitLease(grant)
  return lease ? leaseView(lease) : {}
}

/** The implicit lease of a grant; nothing where sessions alone keep it alive. */
function implicitLease({ holds, unclaimedLease }: Grant): SessionLease | undefined {
  const leases = unclaimedLease ? [unclaimedLease] : holds.values()
  let longest: SessionLease | undefined
  for (const lease of leases)
    if (lease.expiresAtMs !== undefined && lease.expiresAtMs > (longest?.expiresAtMs ?? 0)) longest = lease
  return longest
}

/** A resource as people and programs see it, with the first of its waiters. */
export function viewOf(resource: Resource, waiterLimit = 1_000): ResourceView {
  return {
    namespace: resource.namespace,
    resource: resource.id,
    fence: resource.fence,
    grants: [...resource.grants.values()].map((grant) => ({
      operation: grant.operation,
      node: grant.node,
      owner: grant.owner,
      fence: grant.fence,
      sinceMs: grant.sinceMs,
      attempt: grant.attempt,
      claimed: grant.claimByMs === undefined,
      ...(grant.claimByMs !== undefined && { claimByMs: grant.claimByMs }),
      holds: grant.holds.size,
      ...implicitLeaseView(grant),
      ...revisionOf(grant),
      ...(grant.progress !== undefined && { progress: grant.progress }),
    })),
    waiters: resource.waiters.list(waiterLimit).map(viewOfWaiter),
    waiting: resource.waiters.size,
    queues: resource.waiters
      .operations()
      .map((operation) => ({ operation, waiting: resource.waiters.count(operation) }))
      .filter(({ waiting }) => waiting > 0),
    references: [...resource.references.keys()],
    kept: [...resource.kept].map(([operation, kept]) => ({
      operation,
      node: kept.node,
      fence: kept.fence,
      atMs: kept.atMs,
      untilMs: kept.untilMs,
      ...revisionOf(kept),
      ...(kept.result !== undefined && { result: kept.result }),
      ...(kept.resultOmitted && { resultOmitted: kept.resultOmitted }),
      ...traceOf(kept),
    })),
    recent: [...resource.recent].map(([operation, { node, fence, atMs, outcome, revision }]) => ({
      operation,
      node,
      fence,
      atMs,
      outcome,
      ...revisionOf({ revision }),
    })),
    pauses: [...resource.pauses].map(([operation, { untilMs, attempt }]) => ({ operation, untilMs, attempt })),
  }
}

function viewOfWaiter(waiter: Waiter): WaiterView {
  const { operation, node, owner, sinceMs } = waiter
  return { operation, node, owner, sinceMs, ...revisionOf(waiter) }
}

/** A page of those who wait, in all queues of a resource. */
export interface WaiterPage {
  readonly waiters: readonly WaiterView[]
  /** Where the next page begins; absent where this is the last. */
  readonly next?: number
}

/** A page of the waiters of a resource, after a ticket. */
export function waitersOf(resource: Resource, { after = 0, limit }: { after?: number; limit: number }): WaiterPage {
  const found = resource.waiters.list(limit + 1, after)
  const page = found.slice(0, limit)
  return { waiters: page.map(viewOfWaiter), ...(found.length > limit && { next: page.at(-1)!.ticket }) }
}

/** Where an ask stands at this moment: what a new listener is told first. */
export type Standing = (AcquireReply & { readonly claimed?: boolean }) | { readonly status: 'nothing' }

/** Which ask of an actor is meant. */
interface AskToLookAt extends ActorName {
  readonly operation: string
  readonly hold: string
}

/** Where an ask stands now. Changes nothing. */
export function standingOf(resource: Resource, context: Context, ask: AskToLookAt): Standing {
  const turn = new Turn(resource, context)
  const { operation } = ask
  const grant = grantOf(turn, operation, ask)
  if (grant) return { ...granted(grant), claimed: grant.claimByMs === undefined }
  const waiter = waiterOf(turn, operation, ask)
  if (waiter) return queued(resource.waiters.position(waiter), blockingGrant(turn, operation))
  return lookAtAnswer(turn, ask) ?? { status: 'nothing' }
}

/**
 * What one who waited for an operation, and named no revision, is told when it comes late: that the work has been done,
 * while nobody does it again. It is what one who asked now would skip on, and for some seconds the last success.
 */
export function lateSkip(resource: Resource, context: Context, operation: string): Skip | undefined {
  const turn = new Turn(resource, context)
  const row = rowOf(turn.policy, { operation, classic: true })
  if (row?.waitersOnSuccess !== 'skip' || resource.grants.has(operation) || isInDoubt(turn, operation)) return undefined
  const skip = skipOn(turn, row, { operation, revision: undefined, disbelieved: undefined })
  if (skip && skip.fence > 0) return skip
  const recent = resource.recent.get(operation)
  const isGood = recent?.outcome.outcome === 'success' && recent.revision === undefined
  if (!recent || !isGood || isContradicted(turn, operation, recent)) return skip
  return { status: 'skip', fence: recent.fence, by: recent.node, atMs: recent.atMs }
}
