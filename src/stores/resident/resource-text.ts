import {
  type EndedAsk,
  type KeptAnswer,
  type Remembered,
  type RememberedInMemory,
  type Resource,
  resourceInMemory,
  type Waiter,
} from '../../core/index.ts'
import { restore, type WrittenResource, writtenOf } from '../codec.ts'
import type { Address } from '../store.ts'

/** A whole resource as text. Waiters stand in the order of their tickets, memories in that of their age. */
interface WrittenWhole extends WrittenResource {
  readonly waiters?: readonly Waiter[]
  readonly answers?: readonly [string, KeptAnswer][]
  readonly released?: readonly [string, EndedAsk][]
}

export function resourceToText(resource: Resource): string {
  const { waiters, answers, released } = resource
  const written: WrittenWhole = {
    ...writtenOf(resource),
    ...(waiters.size > 0 && { waiters: waiters.list(Infinity) }),
    ...(answers.size > 0 && { answers: inMemory(answers).entries() }),
    ...(released.size > 0 && { released: inMemory(released).entries() }),
  }
  return JSON.stringify(written)
}

export function resourceFromText(text: string, { namespace, resource: id }: Address): Resource {
  const written: WrittenWhole = JSON.parse(text)
  const resource = resourceInMemory(namespace, id)
  restore(resource, written)
  for (const waiter of written.waiters ?? []) resource.waiters.append(waiter)
  inMemory(resource.answers).fill(written.answers ?? [])
  inMemory(resource.released).fill(written.released ?? [])
  return resource
}

/** Stores of this process keep memories in memory. */
function inMemory<Value extends { readonly node?: string | undefined; readonly untilMs: number }>(
  memories: Remembered<Value>,
): RememberedInMemory<Value> {
  return memories as RememberedInMemory<Value>
}
