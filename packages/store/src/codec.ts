import {
  addReference,
  type Contradiction,
  type Grant,
  Holds,
  type KeptSuccess,
  type Lease,
  type Pause,
  type RecentOutcome,
  type ReferenceChanges,
  type Resource,
  toWrite,
} from '@baton-lock/core'

/**
 * How a resource is written down, as JSON with what is empty left out. Maps become lists in their own order, so that a
 * resource that was written and read again behaves like one that was not. Waiters and memories are not in it: how these
 * are kept is what stores differ in.
 */
export interface WrittenResource {
  readonly fence: number
  readonly ticket?: number
  readonly grants?: readonly (Omit<Grant, 'holds'> & { readonly holds: readonly [string, Lease][] })[]
  readonly pauses?: readonly [string, Pause][]
  readonly kept?: readonly [string, KeptSuccess][]
  readonly recent?: readonly [string, RecentOutcome][]
  readonly successes?: number
  readonly contradicted?: readonly [string, Contradiction][]
  readonly references?: readonly string[]
  /** The number of each of them, and how far they go. */
  readonly numbers?: readonly number[]
  readonly changes?: ReferenceChanges
}

/** A resource as it is written down. */
export function writtenOf(resource: Resource): WrittenResource {
  const { fence, ticket, successes, grants, pauses, kept, recent, contradicted, references, changes } = resource
  return {
    fence,
    ...(ticket > 0 && { ticket }),
    ...(grants.size > 0 && { grants: Array.from(grants.values(), (each) => ({ ...each, holds: [...each.holds] })) }),
    ...(pauses.size > 0 && { pauses: [...pauses] }),
    ...(kept.size > 0 && { kept: [...kept] }),
    ...(recent.size > 0 && { recent: [...recent] }),
    ...(successes > 0 && { successes }),
    ...(contradicted.size > 0 && { contradicted: [...contradicted] }),
    ...(references.size > 0 && { references: [...references.keys()], numbers: [...references.values()] }),
    ...(changes && { changes }),
  }
}

/** Fills a new resource with what was written. Nothing that a step changes in place is shared with `written`. */
export function restore(resource: Resource, written: WrittenResource): void {
  resource.fence = written.fence
  resource.ticket = written.ticket ?? 0
  resource.successes = written.successes ?? 0
  for (const grant of written.grants ?? [])
    toWrite(resource, 'grants').set(grant.operation, { ...grant, holds: new Holds(grant.holds) })
  for (const [operation, pause] of written.pauses ?? []) toWrite(resource, 'pauses').set(operation, pause)
  for (const [operation, kept] of written.kept ?? []) toWrite(resource, 'kept').set(operation, kept)
  for (const [operation, recent] of written.recent ?? []) toWrite(resource, 'recent').set(operation, recent)
  for (const [operation, contradiction] of written.contradicted ?? [])
    toWrite(resource, 'contradicted').set(operation, contradiction)
  for (const [index, node] of (written.references ?? []).entries())
    addReference(resource, node, written.numbers?.[index] ?? 0)
  resource.changes = written.changes
}
