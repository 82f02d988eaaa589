import {
  type Contradiction,
  type EndedAsk,
  type Grant,
  type KeptAnswer,
  type KeptSuccess,
  type Lease,
  type Pause,
  type RecentOutcome,
  type Remembered,
  type RememberedInMemory,
  type Resource,
  resourceInMemory,
  type Waiter,
} from '../../core/index.ts'
import type { Address } from '../store.ts'

/*
 * A resource as text: JSON with what is empty left out. Maps become lists in their own order, and waiters stand in the
 * order of their tickets, so that a resource that was written down and read again behaves like one that was not.
 */
interface Written {
  readonly fence: number
  readonly ticket?: number
  readonly grants?: readonly (Omit<Grant, 'holds'> & { readonly holds: readonly [string, Lease][] })[]
  readonly waiters?: readonly Waiter[]
  readonly pauses?: readonly [string, Pause][]
  readonly kept?: readonly [string, KeptSuccess][]
  readonly recent?: readonly [string, RecentOutcome][]
  readonly successes?: number
  readonly contradicted?: readonly [string, Contradiction][]
  readonly references?: readonly string[]
  readonly answers?: readonly [string, KeptAnswer][]
  readonly released?: readonly [string, EndedAsk][]
}

export function resourceToText(resource: Resource): string {
  const {
    fence,
    ticket,
    successes,
    grants,
    waiters,
    pauses,
    kept,
    recent,
    contradicted,
    references,
    answers,
    released,
  } = resource
  const written: Written = {
    fence,
    ...(ticket > 0 && { ticket }),
    ...(grants.size > 0 && { grants: Array.from(grants.values(), (each) => ({ ...each, holds: [...each.holds] })) }),
    ...(waiters.size > 0 && { waiters: waiters.list(Infinity) }),
    ...(pauses.size > 0 && { pauses: [...pauses] }),
    ...(kept.size > 0 && { kept: [...kept] }),
    ...(recent.size > 0 && { recent: [...recent] }),
    ...(successes > 0 && { successes }),
    ...(contradicted.size > 0 && { contradicted: [...contradicted] }),
    ...(references.size > 0 && { references: [...references] }),
    ...(answers.size > 0 && { answers: entriesOf(answers) }),
    ...(released.size > 0 && { released: entriesOf(released) }),
  }
  return JSON.stringify(written)
}

export function resourceFromText(text: string, { namespace, resource: id }: Address): Resource {
  const written: Written = JSON.parse(text)
  const resource = resourceInMemory(namespace, id)
  resource.fence = written.fence
  resource.ticket = written.ticket ?? 0
  resource.successes = written.successes ?? 0
  for (const grant of written.grants ?? []) {
    resource.grants.set(grant.operation, { ...grant, holds: new Map(grant.holds) })
  }
  for (const waiter of written.waiters ?? []) resource.waiters.append(waiter)
  fill(resource.pauses, written.pauses)
  fill(resource.kept, written.kept)
  fill(resource.recent, written.recent)
  fill(resource.contradicted, written.contradicted)
  for (const node of written.references ?? []) resource.references.add(node)
  fill(resource.answers, written.answers)
  fill(resource.released, written.released)
  return resource
}

/** Stores of this process keep them in memory. */
function entriesOf<Value extends { readonly node?: string | undefined; readonly untilMs: number }>(
  remembered: Remembered<Value>,
): readonly [string, Value][] {
  return (remembered as RememberedInMemory<Value>).entries()
}

function fill<Value>(map: { set(key: string, value: Value): void }, entries: readonly [string, Value][] = []): void {
  for (const [key, value] of entries) map.set(key, value)
}
