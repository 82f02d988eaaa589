import { Deadlines } from './deadline-heap.ts'
import type { Lease } from './lease.ts'
import type { Entries } from './small-map.ts'

/**
 * The holds of a grant, and what keeps each of them alive. Nearly always it is one; of many, whatever is asked or changed costs
 * no more than a logarithm. All holds without a session share the implicit session of their actor and key: they were renewed at
 * the same moment, and differ in their ttl alone.
 */
export class Holds implements Entries<Lease> {
  #hold: string | undefined
  #lease: Lease | undefined
  /** All of them, once there were two. */
  #many: ManyHolds | undefined

  constructor(entries: Iterable<readonly [string, Lease]> = []) {
    for (const [hold, lease] of entries) this.set(hold, lease)
  }

  get size(): number {
    if (this.#many) return this.#many.size
    return this.#hold === undefined ? 0 : 1
  }

  get(hold: string): Lease | undefined {
    if (this.#many) return this.#many.get(hold)
    return this.#hold === hold ? this.#lease : undefined
  }

  has(hold: string): boolean {
    return this.#many ? this.#many.has(hold) : this.#hold === hold
  }

  /** An implicit lease renews those of the others. */
  set(hold: string, lease: Lease): void {
    if (this.#many) this.#many.set(hold, lease)
    else if (this.#hold === undefined || this.#hold === hold) {
      this.#hold = hold
      this.#lease = lease
    } else {
      this.#many = new ManyHolds()
      this.#many.set(this.#hold, this.#lease!)
      this.#many.set(hold, lease)
      this.#forget()
    }
  }

  delete(hold: string): boolean {
    if (this.#many) return this.#many.delete(hold)
    if (this.#hold !== hold) return false
    this.#forget()
    return true
  }

  /** Renews the implicit session. Says for how long it is good now; nothing where every hold has a session of its own. */
  renew(nowMs: number): number | undefined {
    if (this.#many) return this.#many.renew(nowMs)
    const ttlMs = this.#lease?.ttlMs
    if (ttlMs !== undefined) this.#lease = { expiresAtMs: nowMs + ttlMs, ttlMs }
    return ttlMs
  }

  /** When the first of them runs out; `Infinity` where that is left to sessions. */
  nextMs(): number {
    if (this.#many) return this.#many.nextMs()
    return this.#lease?.expiresAtMs ?? Infinity
  }

  /** Those that have run out, in the order of all. */
  due(nowMs: number): readonly string[] {
    if (this.#many) return this.#many.due(nowMs)
    return this.nextMs() <= nowMs ? [this.#hold!] : none
  }

  /** Those that hang off a session, in the order of all. */
  ofSession(session: string): readonly string[] {
    if (this.#many) return this.#many.ofSession(session)
    return this.hangsOff(session) ? [this.#hold!] : none
  }

  hangsOff(session: string): boolean {
    return this.#many ? this.#many.hangsOff(session) : this.#lease?.session === session
  }

  /** The sessions that they hang off, each once. */
  sessions(): readonly string[] {
    if (this.#many) return this.#many.sessions()
    return this.#lease?.session === undefined ? none : [this.#lease.session]
  }

  keys(): IterableIterator<string> {
    if (this.#many) return this.#many.keys()
    return (this.#hold === undefined ? none : [this.#hold]).values()
  }

  *values(): IterableIterator<Lease> {
    for (const [, lease] of this) yield lease
  }

  *[Symbol.iterator](): IterableIterator<[string, Lease]> {
    if (this.#many) for (const hold of this.#many.keys()) yield [hold, this.#many.get(hold)!]
    else if (this.#hold !== undefined) yield [this.#hold, this.#lease!]
  }

  #forget(): void {
    this.#hold = undefined
    this.#lease = undefined
  }
}

const none: readonly string[] = []

/** A hold among many: it hangs off a session, or has a ttl. */
interface Held {
  readonly order: number
  readonly session: string | undefined
  readonly ttlMs: number | undefined
}

class ManyHolds {
  readonly #all = new Map<string, Held>()
  readonly #bySession = new Map<string, Set<string>>()
  /** Those without a session, the shortest ttl first and the longest first. */
  readonly #shortest = new Deadlines<string>()
  readonly #longest = new Deadlines<string>()
  #renewedMs = -Infinity
  #lastOrder = 0

  get size(): number {
    return this.#all.size
  }

  get(hold: string): Lease | undefined {
    const held = this.#all.get(hold)
    if (!held) return undefined
    if (held.session !== undefined) return { session: held.session }
    return { expiresAtMs: this.#renewedMs + held.ttlMs!, ttlMs: held.ttlMs! }
  }

  has(hold: string): boolean {
    return this.#all.has(hold)
  }

  set(hold: string, { session, ttlMs, expiresAtMs }: Lease): void {
    const before = this.#all.get(hold)
    if (before) this.#leave(hold, before)
    this.#all.set(hold, { order: before?.order ?? ++this.#lastOrder, session, ttlMs })
    if (session !== undefined) {
      const holds = this.#bySession.get(session)
      if (holds) holds.add(hold)
      else this.#bySession.set(session, new Set([hold]))
    } else {
      this.#renewedMs = Math.max(this.#renewedMs, expiresAtMs! - ttlMs!)
      this.#shortest.set(hold, ttlMs)
      this.#longest.set(hold, -ttlMs!)
    }
  }

  delete(hold: string): boolean {
    const held = this.#all.get(hold)
    if (!held) return false
    this.#leave(hold, held)
    return this.#all.delete(hold)
  }

  renew(nowMs: number): number | undefined {
    const longestMs = this.#longest.nextMs()
    if (longestMs === undefined) return undefined
    this.#renewedMs = nowMs
    return -longestMs
  }

  nextMs(): number {
    const ttlMs = this.#shortest.nextMs()
    return ttlMs === undefined ? Infinity : this.#renewedMs + ttlMs
  }

  due(nowMs: number): readonly string[] {
    const due: string[] = []
    while (this.nextMs() <= nowMs) {
      const hold = this.#shortest.due(Infinity)!
      this.#shortest.set(hold, undefined)
      due.push(hold)
    }
    for (const hold of due) this.#shortest.set(hold, this.#all.get(hold)!.ttlMs)
    return this.#inOrder(due)
  }

  ofSession(session: string): readonly string[] {
    return this.#inOrder([...(this.#bySession.get(session) ?? none)])
  }

  hangsOff(session: string): boolean {
    return this.#bySession.has(session)
  }

  sessions(): readonly string[] {
    return [...this.#bySession.keys()]
  }

  keys(): IterableIterator<string> {
    return this.#all.keys()
  }

  #leave(hold: string, { session }: Held): void {
    this.#shortest.set(hold, undefined)
    this.#longest.set(hold, undefined)
    if (session === undefined) return
    const holds = this.#bySession.get(session)!
    holds.delete(hold)
    if (holds.size === 0) this.#bySession.delete(session)
  }

  #inOrder(holds: string[]): readonly string[] {
    return holds.sort((a, b) => this.#all.get(a)!.order - this.#all.get(b)!.order)
  }
}
