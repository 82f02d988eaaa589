import { Deadlines } from './deadline-heap.ts'
import { SmallMap } from './small-map.ts'
import type { Waiter, WritableWaiters } from './state.ts'

/** Waiters kept in memory. Stores that keep them elsewhere bring their own. */
export class WaitersInMemory implements WritableWaiters {
  /** Nothing while nobody waits: so it is with most resources. */
  #queues: Queues | undefined

  get size(): number {
    return this.#queues?.size ?? 0
  }

  count(operation: string): number {
    return this.#queues?.of(operation)?.size ?? 0
  }

  countOf(operation: string, node: string): number {
    return this.#queues?.of(operation)?.countOf(node) ?? 0
  }

  operations(): string[] {
    return this.#queues ? [...this.#queues.byOperation.keys()] : []
  }

  head(operation: string): Waiter | undefined {
    return this.#queues?.of(operation)?.head()
  }

  ofOwner(operation: string, owner: string): readonly Waiter[] {
    return this.#queues?.of(operation)?.ofOwner(owner) ?? []
  }

  all(operation: string): Waiter[] {
    return this.#queues?.of(operation)?.all() ?? []
  }

  ofRevision(operation: string, revision: string | undefined): Waiter[] {
    return this.all(operation).filter((waiter) => waiter.revision === revision)
  }

  position(waiter: Waiter): number {
    return this.#queues!.of(waiter.operation)!.position(waiter)
  }

  append(waiter: Waiter): void {
    this.#queues ??= new Queues()
    this.#queues.append(waiter)
    this.renewed(waiter)
  }

  remove(waiter: Waiter): void {
    this.#queues!.remove(waiter)
    if (this.#queues!.size === 0) this.#queues = undefined
  }

  renewed(waiter: Waiter): void {
    const atMs = Math.min(waiter.lease.expiresAtMs ?? Infinity, waiter.waitUntilMs ?? Infinity)
    this.#queues!.deadlines.set(waiter, atMs === Infinity ? undefined : atMs)
  }

  due(nowMs: number): Waiter | undefined {
    return this.#queues?.deadlines.due(nowMs)
  }

  nextDeadlineMs(): number | undefined {
    return this.#queues?.deadlines.nextMs()
  }

  list(limit: number, afterTicket = 0): Waiter[] {
    if (!this.#queues) return []
    // Each queue is in the order of its tickets: of a long one no more is looked at than may be shown.
    const first = [...this.#queues.byOperation.values()].flatMap((queue) => queue.first(limit, afterTicket))
    return first.sort((a, b) => a.ticket - b.ticket).slice(0, limit)
  }
}

/** The queues of a resource that somebody waits for. */
class Queues {
  readonly byOperation = new SmallMap<Queue>()
  /** By ticket where two are due at once, so that a queue that was written down and read again goes on alike. */
  readonly deadlines = new Deadlines<Waiter>({ rank: ({ ticket }) => ticket })
  size = 0

  of(operation: string): Queue | undefined {
    return this.byOperation.get(operation)
  }

  append(waiter: Waiter): void {
    let queue = this.of(waiter.operation)
    if (!queue) {
      queue = new Queue()
      this.byOperation.set(waiter.operation, queue)
    }
    queue.append(waiter)
    this.size++
  }

  remove(waiter: Waiter): void {
    const queue = this.of(waiter.operation)!
    queue.remove(waiter)
    this.size--
    this.deadlines.set(waiter, undefined)
    if (queue.size === 0) this.byOperation.delete(waiter.operation)
  }
}

/**
 * One FIFO queue. Those who leave from the middle leave a hole, and the holes are closed when somebody asks for a
 * position or when they outnumber the waiters, so that every step costs O(1) on average.
 */
class Queue {
  #places: (Waiter | undefined)[] = []
  #first = 0
  /** In the order of the queue. */
  #indexes = new Map<Waiter, number>()
  readonly #byOwner = new Map<string, readonly Waiter[]>()
  readonly #byNode = new Map<string, number>()

  get size(): number {
    return this.#indexes.size
  }

  head(): Waiter | undefined {
    return this.#places[this.#first]
  }

  countOf(node: string): number {
    return this.#byNode.get(node) ?? 0
  }

  ofOwner(owner: string): readonly Waiter[] {
    return this.#byOwner.get(owner) ?? []
  }

  all(): Waiter[] {
    return [...this.#indexes.keys()]
  }

  /** The first of those after a ticket. */
  first(limit: number, afterTicket: number): Waiter[] {
    const found: Waiter[] = []
    for (const waiter of this.#indexes.keys()) {
      if (found.length >= limit) break
      if (waiter.ticket > afterTicket) found.push(waiter)
    }
    return found
  }

  append(waiter: Waiter): void {
    this.#indexes.set(waiter, this.#places.push(waiter) - 1)
    this.#byOwner.set(waiter.owner, [...this.ofOwner(waiter.owner), waiter])
    this.#byNode.set(waiter.node, this.countOf(waiter.node) + 1)
  }

  remove(waiter: Waiter): void {
    this.#places[this.#indexes.get(waiter)!] = undefined
    this.#indexes.delete(waiter)
    const others = this.ofOwner(waiter.owner).filter((each) => each !== waiter)
    if (others.length > 0) this.#byOwner.set(waiter.owner, others)
    else this.#byOwner.delete(waiter.owner)
    const ofNode = this.countOf(waiter.node) - 1
    if (ofNode > 0) this.#byNode.set(waiter.node, ofNode)
    else this.#byNode.delete(waiter.node)
    while (this.#first < this.#places.length && this.#places[this.#first] === undefined) this.#first++
    if (this.#places.length > 2 * this.size + 16) this.#closeHoles()
  }

  position(waiter: Waiter): number {
    if (this.#places.length - this.#first > this.size) this.#closeHoles()
    return this.#indexes.get(waiter)! - this.#first + 1
  }

  #closeHoles(): void {
    this.#places = this.all()
    this.#first = 0
    this.#indexes = new Map(this.all().map((waiter, index) => [waiter, index]))
  }
}
