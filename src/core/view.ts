import { granted } from './grant.ts'
import type { AcquireReply, Json, Outcome } from './reply.ts'
import { askName, type Resource, revisionOf } from './state.ts'

export interface GrantView {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly sinceMs: number
  readonly attempt: number
  readonly claimed: boolean
  readonly holds: number
  readonly revision?: string
  readonly progress?: Json
}

export interface WaiterView {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly sinceMs: number
  readonly revision?: string
}

export interface KeptView {
  readonly operation: string
  readonly node: string
  readonly fence: number
  readonly atMs: number
  readonly untilMs: number
  readonly revision?: string
  readonly result?: Json
}

export interface RecentView {
  readonly operation: string
  readonly node: string
  readonly fence: number
  readonly atMs: number
  readonly outcome: Outcome
  readonly revision?: string
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
  readonly references: readonly string[]
  readonly kept: readonly KeptView[]
  readonly recent: readonly RecentView[]
}

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
      holds: grant.holds.size,
      ...revisionOf(grant),
      ...(grant.progress !== undefined && { progress: grant.progress }),
    })),
    waiters: resource.waiters.list(waiterLimit).map((waiter) => ({
      operation: waiter.operation,
      node: waiter.node,
      owner: waiter.owner,
      sinceMs: waiter.sinceMs,
      ...revisionOf(waiter),
    })),
    waiting: resource.waiters.size,
    references: [...resource.references],
    kept: [...resource.kept].map(([operation, { node, fence, atMs, untilMs, result, revision }]) => ({
      operation,
      node,
      fence,
      atMs,
      untilMs,
      ...revisionOf({ revision }),
      ...(result !== undefined && { result }),
    })),
    recent: [...resource.recent].map(([operation, { node, fence, atMs, outcome, revision }]) => ({
      operation,
      node,
      fence,
      atMs,
      outcome,
      ...revisionOf({ revision }),
    })),
  }
}

/** Where an ask stands at this moment: what a new listener is told first. */
export type Standing = (AcquireReply & { readonly claimed?: boolean }) | { readonly status: 'nothing' }

export function standingOf(resource: Resource, ask: { operation: string; owner: string; hold: string }): Standing {
  const grant = resource.grants.get(ask.operation)
  if (grant?.owner === ask.owner) return { ...granted(grant), claimed: grant.claimByMs === undefined }
  const waiter = resource.waiters.find(ask.operation, ask.owner)
  if (waiter) return { status: 'queued', position: resource.waiters.position(waiter) }
  return resource.answers.get(askName(ask.operation, ask.owner, ask.hold))?.answer ?? { status: 'nothing' }
}
