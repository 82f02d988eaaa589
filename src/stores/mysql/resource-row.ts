import {
  type Contradiction,
  type EndedAsk,
  type Grant,
  type KeptAnswer,
  type KeptSuccess,
  type Lease,
  newResource,
  type Pause,
  type RecentOutcome,
  type Resource,
} from '../../core/index.ts'
import type { Address } from '../store.ts'
import { type LoadedMemories, RememberedInRows } from './remembered-in-rows.ts'
import { LoadedWaiters, WaitersInRows, type WaiterTotals } from './waiters-in-rows.ts'

/** A resource whose waiters and memories are rows of their own. */
export interface ResourceInRows extends Resource {
  readonly waiters: WaitersInRows
  readonly answers: RememberedInRows<KeptAnswer>
  readonly released: RememberedInRows<EndedAsk>
}

/** All that was read of a resource; a step that wants more adds to it. */
export class Loaded {
  readonly waiters = new LoadedWaiters()
  readonly answers = new Map<string, KeptAnswer[]>()
  readonly released = new Map<string, EndedAsk[]>()
}

/* The column `state`: JSON with what is empty left out. `format` is raised when an older process could misread it. */
interface State {
  readonly format: typeof FORMAT
  /** When the last step was taken (time never runs backwards for a resource), and by which process. */
  readonly atMs: number
  readonly by: string
  readonly ticket: number
  readonly rememberedUntilMs: number
  readonly waiting?: WaiterTotals
  readonly grants?: readonly (Omit<Grant, 'holds'> & { readonly holds: readonly [string, Lease][] })[]
  readonly pauses?: readonly [string, Pause][]
  readonly kept?: readonly [string, KeptSuccess][]
  readonly recent?: readonly [string, RecentOutcome][]
  readonly successes?: number
  readonly contradicted?: readonly [string, Contradiction][]
  readonly references?: readonly string[]
}

/** One row of `baton_resources`. */
export interface ResourceRow {
  readonly fence: number
  readonly state: string | null
}

const FORMAT = 2

export class NewerFormat extends Error {
  override readonly name = 'NewerFormat'
}

export interface LastStep {
  readonly atMs: number
  readonly by: string | undefined
}

export function lastStepOf({ state }: ResourceRow): LastStep {
  if (state === null) return { atMs: 0, by: undefined }
  const { atMs, by }: State = JSON.parse(state)
  return { atMs, by }
}

export function resourceFromRow({ fence, state }: ResourceRow, address: Address, loaded: Loaded): ResourceInRows {
  const read: Partial<State> = state === null ? {} : JSON.parse(state)
  if ((read.format ?? FORMAT) > FORMAT) {
    throw new NewerFormat('this store was written by a newer version of Baton: upgrade this one')
  }
  const memories = <Value extends { readonly node?: string | undefined; readonly untilMs: number }>(
    of: LoadedMemories<Value>,
  ) => new RememberedInRows<Value>(read.rememberedUntilMs ?? 0, of)
  const resource = newResource(address.namespace, address.resource, {
    waiters: new WaitersInRows(read.waiting ?? { counts: {} }, loaded.waiters),
    answers: memories(loaded.answers),
    released: memories(loaded.released),
  }) as ResourceInRows
  resource.fence = fence
  resource.ticket = read.ticket ?? 0
  resource.successes = read.successes ?? 0
  for (const grant of read.grants ?? []) {
    resource.grants.set(grant.operation, { ...grant, holds: new Map(grant.holds) } as Grant)
  }
  for (const [operation, pause] of read.pauses ?? []) resource.pauses.set(operation, pause)
  for (const [operation, kept] of read.kept ?? []) resource.kept.set(operation, kept)
  for (const [operation, recent] of read.recent ?? []) resource.recent.set(operation, recent)
  for (const [operation, by] of read.contradicted ?? []) resource.contradicted.set(operation, by)
  for (const node of read.references ?? []) resource.references.add(node)
  return resource
}

export function stateOf(resource: ResourceInRows, { atMs, by }: { atMs: number; by: string }): string {
  const { ticket, successes, grants, waiters, pauses, kept, recent, contradicted, references } = resource
  const state: State = {
    format: FORMAT,
    atMs,
    by,
    ticket,
    rememberedUntilMs: rememberedUntilMs(resource),
    ...(waiters.size > 0 && { waiting: waiters.totals }),
    ...(grants.size > 0 && { grants: Array.from(grants.values(), (each) => ({ ...each, holds: [...each.holds] })) }),
    ...(pauses.size > 0 && { pauses: [...pauses] }),
    ...(kept.size > 0 && { kept: [...kept] }),
    ...(recent.size > 0 && { recent: [...recent] }),
    ...(successes > 0 && { successes }),
    ...(contradicted.size > 0 && { contradicted: [...contradicted] }),
    ...(references.size > 0 && { references: [...references] }),
  }
  return JSON.stringify(state)
}

/**
 * When somebody has to look at it: when something happens to those who hold or wait; otherwise when all that it
 * remembers can be forgotten. What is over before that is treated as forgotten by every step that meets it.
 */
export function dueOf(resource: ResourceInRows, nextActMs: number | undefined): number | undefined {
  if (nextActMs !== undefined) return nextActMs
  if (resource.grants.size + resource.waiters.size + resource.references.size > 0) return undefined
  let lastMs = rememberedUntilMs(resource)
  for (const map of [resource.kept, resource.recent, resource.contradicted])
    for (const { untilMs } of map.values()) lastMs = Math.max(lastMs, untilMs)
  return lastMs
}

function rememberedUntilMs({ answers, released }: ResourceInRows): number {
  return Math.max(answers.untilMs, released.untilMs)
}
