import {
  type EndedAsk,
  type Json,
  type KeptAnswer,
  memoriesToWrite,
  type Remembered,
  type RememberedInMemory,
  type Resource,
  resourceInMemory,
  type Waiter,
  waitersToWrite,
} from '@baton-lock/core'
import { restore, type WrittenResource, writtenOf } from '../codec.ts'
import type { Address } from '../store.ts'
import { mapKept, SharedResults } from './shared-results.ts'

/** A resource as JSON. Waiters are ordered by ticket, memories by age. */
interface WrittenWhole extends WrittenResource {
  readonly waiters?: readonly Waiter[]
  /** The results of answers: see `SharedResults`. */
  readonly results?: readonly Json[]
  readonly answers?: readonly [string, KeptAnswer][]
  readonly released?: readonly [string, EndedAsk][]
}

export function resourceToText(resource: Resource): string {
  const { waiters, answers, released } = resource
  const written: WrittenWhole = {
    ...writtenOf(resource),
    ...(waiters.size > 0 && { waiters: waiters.list(Infinity) }),
    ...(answers.size + released.size > 0 && memoriesOf(resource)),
  }
  return JSON.stringify(written)
}

function memoriesOf({ answers, released }: Resource): Pick<WrittenWhole, 'results' | 'answers' | 'released'> {
  const shared = new SharedResults()
  const taken = (kept: KeptAnswer) => shared.taken(kept)
  const told = mapped(inMemory(answers).entries(), taken)
  const ended = mapped(inMemory(released).entries(), (each) => mapKept(each, taken))
  return {
    ...(shared.list.length > 0 && { results: shared.list }),
    ...(told.length > 0 && { answers: told }),
    ...(ended.length > 0 && { released: ended }),
  }
}

export function resourceFromText(text: string, { namespace, resource: id }: Address): Resource {
  const written: WrittenWhole = JSON.parse(text)
  const resource = resourceInMemory(namespace, id)
  restore(resource, written)
  if (written.waiters) {
    const waiters = waitersToWrite(resource)
    for (const waiter of written.waiters) waiters.append(waiter)
  }
  const shared = new SharedResults(written.results)
  const given = (kept: KeptAnswer) => shared.given(kept)
  if (written.answers) inMemory(memoriesToWrite(resource, 'answers')).fill(mapped(written.answers, given))
  if (written.released)
    inMemory(memoriesToWrite(resource, 'released')).fill(mapped(written.released, (each) => mapKept(each, given)))
  return resource
}

/** In-process stores keep memories in memory. */
function inMemory<Value extends { readonly node?: string | undefined; readonly untilMs: number }>(
  memories: Remembered<Value>,
): RememberedInMemory<Value> {
  return memories as RememberedInMemory<Value>
}

function mapped<Value>(entries: readonly [string, Value][], change: (value: Value) => Value): [string, Value][] {
  return entries.map(([name, value]) => [name, change(value)])
}
