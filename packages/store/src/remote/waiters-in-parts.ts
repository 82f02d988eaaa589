import type { Waiter, WritableWaiters } from '@baton-lock/core'
import { NotLoaded, type Parts, partName } from './parts.ts'

/** What is written of a resource's waiters with the resource itself. */
export interface WaiterTotals {
  /** How many wait, by operation; none are left out. */
  readonly counts: Readonly<Record<string, number>>
  /** No waiter is due before this. */
  readonly dueFromMs?: number | undefined
}

/** A longer queue is not read to find out how many of it are of one node. */
const COUNTED_MAX = 1_000

/** The waiters of one resource, as far as they were read, and what steps have changed of them. */
export class WaitersInParts implements WritableWaiters {
  readonly #parts: Parts
  /** How many there were before these steps. */
  readonly #stored: WaiterTotals['counts']
  readonly #counts: Map<string, number>
  readonly #present = new Map<number, Waiter>()
  readonly #byOwner = new Map<string, readonly Waiter[]>()
  readonly #appended = new Map<number, Waiter>()
  readonly #removed = new Map<number, Waiter>()
  readonly #renewed = new Map<number, Waiter>()
  /** How far into `first` the queue of an operation, and into `due` the resource, has been used up. */
  readonly #used = new Map<string, number>()
  #usedDue = 0
  #dueFromMs: number | undefined

  constructor({ counts, dueFromMs }: WaiterTotals, parts: Parts) {
    this.#parts = parts
    this.#stored = counts
    this.#counts = new Map(Object.entries(counts))
    this.#dueFromMs = dueFromMs
    // Copies: a step that has to be decided again must find them as they were.
    for (const waiter of parts.byTicket.values()) this.#put({ ...waiter })
  }

  get size(): number {
    let size = 0
    for (const count of this.#counts.values()) size += count
    return size
  }

  count(operation: string): number {
    return this.#counts.get(operation) ?? 0
  }

  countOf(operation: string, node: string): number {
    if (!this.#isWhole(operation) && this.count(operation) <= COUNTED_MAX) throw this.#wholeIsWanted(operation)
    return this.#ofQueue(operation).filter((waiter) => waiter.node === node).length
  }

  operations(): string[] {
    return [...this.#counts.keys()]
  }

  head(operation: string): Waiter | undefined {
    if (this.count(operation) === 0) return undefined
    const { tickets, whole } = this.#parts.first.get(operation) ?? { tickets: [], whole: false }
    let used = this.#used.get(operation) ?? 0
    while (used < tickets.length && !this.#present.has(tickets[used]!)) used++
    this.#used.set(operation, used)
    if (used < tickets.length) return this.#present.get(tickets[used]!)
    if (!whole && !this.#isWhole(operation))
      throw new NotLoaded({ what: 'first', operation, count: 4 + 8 * tickets.length })
    for (const waiter of this.#appended.values()) if (waiter.operation === operation) return waiter
    return undefined
  }

  ofOwner(operation: string, owner: string): readonly Waiter[] {
    const name = partName(operation, owner)
    if (!this.#parts.owners.has(name) && !this.#isWhole(operation))
      throw new NotLoaded({ what: 'owners', owners: [{ operation, owner }] })
    return this.#byOwner.get(name) ?? []
  }

  all(operation: string): Waiter[] {
    if (!this.#isWhole(operation)) throw this.#wholeIsWanted(operation)
    return this.#ofQueue(operation)
  }

  ofRevision(operation: string, revision: string | undefined): Waiter[] {
    if (!this.#parts.revisions.has(partName(operation, revision)) && !this.#isWhole(operation))
      throw new NotLoaded({ what: 'revision', operation, revision })
    return this.#ofQueue(operation).filter((waiter) => waiter.revision === revision)
  }

  position(waiter: Waiter): number {
    const { operation, ticket } = waiter
    if (this.#appended.has(ticket)) {
      const later = [...this.#appended.values()].filter((each) => each.operation === operation && each.ticket > ticket)
      return this.count(operation) - later.length
    }
    const before = this.#parts.before.get(ticket)
    if (before === undefined) throw new NotLoaded({ what: 'positions', operation, tickets: this.#unplaced(operation) })
    const gone = [...this.#removed.values()].filter((each) => each.operation === operation && each.ticket < ticket)
    return before - gone.length + 1
  }

  append(waiter: Waiter): void {
    this.#put(waiter)
    this.#appended.set(waiter.ticket, waiter)
    this.#counts.set(waiter.operation, this.count(waiter.operation) + 1)
    this.#lowerDue(waiter)
  }

  remove(waiter: Waiter): void {
    const { ticket, operation, owner } = waiter
    if (!this.#present.delete(ticket)) return
    const name = partName(operation, owner)
    this.#byOwner.set(
      name,
      (this.#byOwner.get(name) ?? []).filter((each) => each !== waiter),
    )
    this.#renewed.delete(ticket)
    if (!this.#appended.delete(ticket)) this.#removed.set(ticket, waiter)
    const count = this.count(operation) - 1
    if (count > 0) this.#counts.set(operation, count)
    else this.#counts.delete(operation)
    if (this.#counts.size === 0) this.#dueFromMs = undefined
  }

  renewed(waiter: Waiter): void {
    if (!this.#appended.has(waiter.ticket)) this.#renewed.set(waiter.ticket, waiter)
    this.#lowerDue(waiter)
  }

  due(nowMs: number): Waiter | undefined {
    if ((this.#dueFromMs ?? Infinity) > nowMs) return undefined
    const { due } = this.#parts
    if (due === undefined || due.atMs < nowMs) throw new NotLoaded({ what: 'due', nowMs })
    for (; this.#usedDue < due.tickets.length; this.#usedDue++) {
      const waiter = this.#present.get(due.tickets[this.#usedDue]!)
      if (waiter && waiterDueMs(waiter)! <= nowMs) return waiter
    }
    this.#dueFromMs = due.nextMs
    for (const waiter of [...this.#appended.values(), ...this.#renewed.values()]) this.#lowerDue(waiter)
    return undefined
  }

  /** Not later than the first: those that have gone since may have been earlier. */
  nextDeadlineMs(): number | undefined {
    return this.#dueFromMs
  }

  list(limit: number, afterTicket = 0): Waiter[] {
    const { oldest } = this.#parts
    const isThere = oldest !== undefined && oldest.after === afterTicket && oldest.count >= limit
    if (!isThere && ![...this.#counts.keys()].every((each) => this.#isWhole(each)))
      throw new NotLoaded({ what: 'oldest', count: limit, after: afterTicket })
    const later = [...this.#present.values()].filter(({ ticket }) => ticket > afterTicket)
    return later.sort((a, b) => a.ticket - b.ticket).slice(0, limit)
  }

  get totals(): WaiterTotals {
    return { counts: Object.fromEntries(this.#counts), dueFromMs: this.#dueFromMs }
  }

  /** What has to be written: rows that are new, that go, that changed. */
  get changes(): Readonly<Record<'appended' | 'removed' | 'renewed', readonly Waiter[]>> {
    return {
      appended: [...this.#appended.values()],
      removed: [...this.#removed.values()],
      renewed: [...this.#renewed.values()],
    }
  }

  #put(waiter: Waiter): void {
    this.#present.set(waiter.ticket, waiter)
    const name = partName(waiter.operation, waiter.owner)
    this.#byOwner.set(name, [...(this.#byOwner.get(name) ?? []), waiter])
  }

  /** Whether all of a queue is here. */
  #isWhole(operation: string): boolean {
    if (this.#parts.first.get(operation)?.whole) return true
    let here = 0
    for (const waiter of this.#appended.values()) if (waiter.operation === operation) here++
    return this.count(operation) === here
  }

  /** One more than there are: so it is seen that these are all. Those that steps have removed are still among them. */
  #wholeIsWanted(operation: string): NotLoaded {
    return new NotLoaded({ what: 'first', operation, count: (this.#stored[operation] ?? 0) + 1 })
  }

  /** Those of a queue of which is not known how many stand before them. */
  #unplaced(operation: string): number[] {
    const read = [...this.#parts.byTicket.values()].filter((waiter) => waiter.operation === operation)
    return read.map(({ ticket }) => ticket).filter((ticket) => !this.#parts.before.has(ticket))
  }

  #ofQueue(operation: string): Waiter[] {
    const waiters = [...this.#present.values()].filter((waiter) => waiter.operation === operation)
    return waiters.sort((a, b) => a.ticket - b.ticket)
  }

  #lowerDue(waiter: Waiter): void {
    const atMs = waiterDueMs(waiter)
    if (atMs !== undefined) this.#dueFromMs = Math.min(this.#dueFromMs ?? atMs, atMs)
  }
}

/** When a waiter's lease or wait limit is over. */
export function waiterDueMs({ lease, waitUntilMs }: Waiter): number | undefined {
  const atMs = Math.min(lease.expiresAtMs ?? Infinity, waitUntilMs ?? Infinity)
  return atMs === Infinity ? undefined : atMs
}
