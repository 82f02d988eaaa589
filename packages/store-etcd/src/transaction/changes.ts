import type { Waiter } from '@baton-lock/core'
import { type Change, waiterDueMs } from '@baton-lock/store/remote'
import type { Operation } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import { headText, resourceText, type StoredHead } from './document.ts'
import { memoryPuts } from './memories.ts'

/** What a change does to a resource, as operations by key: none comes twice. */
export class Writes {
  readonly #operations = new Map<string, Operation>()

  put(key: string, value: string): void {
    this.#operations.set(key, { put: { key, value } })
  }

  remove(key: string): void {
    this.#operations.set(key, { delete: { key } })
  }

  removeAll({ key, end }: { readonly key: string; readonly end?: string }): void {
    for (const each of this.#operations.keys()) if (each >= key && each < end!) this.#operations.delete(each)
    this.#operations.set(key, { delete: { key, ...(end !== undefined && { end }) } })
  }

  get all(): readonly Operation[] {
    return [...this.#operations.values()]
  }
}

/** The deadlines of waiters as they were written: what they stand under in the index has to go with them. */
export type WrittenDeadlines = ReadonlyMap<string, number | undefined>

/** Everything of a change that is only read by whoever opens the resource: all but itself, its letters and the places that it gives. */
export function writeParts(keys: Keys, change: Change, deadlines: WrittenDeadlines): readonly Operation[] {
  const writes = new Writes()
  writeWaiters(keys, writes, change, deadlines)
  if (change.state !== 'idle') writeMemories(keys, writes, change)
  const { address, places } = change
  for (const { session, ...place } of places.lost) writes.remove(keys.place(session, { ...place, ...address }))
  return writes.all
}

export function writeGainedPlaces(keys: Keys, writes: Writes, { address, places }: Change): void {
  for (const { session, ...place } of places.gained) writes.put(keys.place(session, { ...place, ...address }), '')
}

/** The resource itself, and what everybody follows of it. */
export function writeResource(keys: Keys, writes: Writes, change: Change, stored: NewResource): void {
  const { address, nowMs, state, fence } = change
  const { head, ...resource } = stored
  if (state === 'idle') {
    writes.remove(keys.resource(address))
    writes.remove(keys.head(address))
    writes.removeAll(keys.memories(address))
    writes.removeAll(keys.answers(address))
    writes.put(keys.gone(address), '')
  } else {
    writes.put(keys.resource(address), resourceText({ fence, atMs: nowMs, ...resource }))
    if (head) writes.put(keys.head(address), headText(head))
  }
}

interface NewResource {
  /** Nothing where that is as it was. */
  readonly head: StoredHead | undefined
  readonly aheadMs: number
  readonly dueAtMs: number | undefined
  readonly value: string
  readonly journal: string | undefined
}

export function deadlineName(operation: string, ticket: number): string {
  return `${operation}/${ticket}`
}

function writeWaiters(keys: Keys, writes: Writes, change: Change, deadlines: WrittenDeadlines): void {
  const { address, waiters, state } = change
  const { appended, removed, renewed } = waiters
  const forgetDeadline = ({ operation, ticket }: Waiter) => {
    const atMs = deadlines.get(deadlineName(operation, ticket))
    if (atMs !== undefined) writes.remove(keys.deadline(address, operation, ticket, atMs))
  }
  const noteDeadline = (waiter: Waiter) => {
    const atMs = waiterDueMs(waiter)
    if (atMs !== undefined) writes.put(keys.deadline(address, waiter.operation, waiter.ticket, atMs), '')
  }
  // A queue that is empty from now on goes as a whole.
  const emptied = new Set(
    state === undefined ? [] : removed.map(({ operation }) => operation).filter((each) => isEmptied(change, each)),
  )
  for (const operation of emptied) {
    writes.removeAll(keys.queue(address, operation))
    writes.removeAll(keys.ownersOf(address, operation))
  }
  if (emptied.size > 0 && isNobodyLeft(change)) writes.removeAll(keys.deadlines(address))
  for (const waiter of removed) {
    const { operation, owner, ticket } = waiter
    forgetDeadline(waiter)
    if (emptied.has(operation)) continue
    writes.remove(keys.waiter(address, operation, ticket))
    writes.remove(keys.owner(address, operation, owner, ticket))
  }
  for (const waiter of renewed) forgetDeadline(waiter)
  for (const waiter of [...appended, ...renewed]) {
    writes.put(keys.waiter(address, waiter.operation, waiter.ticket), JSON.stringify(waiter))
    noteDeadline(waiter)
  }
  for (const { operation, owner, ticket } of appended) writes.put(keys.owner(address, operation, owner, ticket), '')
}

function isNobodyLeft({ state, waiters }: Change): boolean {
  if (state === undefined || waiters.appended.length > 0) return false
  return state === 'idle' || Object.keys(state.queues).length === 0
}

function isEmptied({ state, waiters }: Change, operation: string): boolean {
  if (state === undefined) return false
  return (
    state === 'idle' || (!(operation in state.queues) && !waiters.appended.some((each) => each.operation === operation))
  )
}

function writeMemories(keys: Keys, writes: Writes, { address, memories }: Change): void {
  for (const { kind, node, value, ...ask } of memories) {
    const key = keys.memory(address, ask, kind, node)
    if (!value) {
      writes.remove(key)
      continue
    }
    const { text, answer } = memoryPuts(keys, address, value)
    writes.put(key, text)
    if (answer) writes.put(answer.key, answer.value)
  }
}
