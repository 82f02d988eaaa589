import type { Policy } from '../../core/index.ts'
import { HeldTimes } from './held-times.ts'
import { AllSeries, type Series } from './series.ts'
import { Window } from './window.ts'

/** So many namespaces have figures of their own; of more, those that were longest without an event are forgotten. */
const NAMESPACES = 100
/** So many operations of all of them; and once there are so many, none that the policy does not name. */
const OPERATIONS = 2_000
const UNNAMED_OPERATIONS = 500

/** One operation of one namespace, as askers name it: where it is counted. */
export interface Key {
  readonly operation: string
  readonly inNamespace: OfNamespace
  series: Series
  /** Absent where there are too many operations to know of each what is usual. */
  readonly held: HeldTimes | undefined
}

/** What is known of one namespace, by its real name: whoever may only see that one is shown nothing else. */
class OfNamespace {
  readonly name: string
  readonly window: Window
  readonly keys = new Map<string, Key>()
  /** Of operations that there is no room for, where there are such. */
  others: Key | undefined
  /** The number of the lookup that it was last needed for. */
  usedAt = 0

  constructor(name: string, window: Window) {
    this.name = name
    this.window = window
  }
}

/** Finds where something is counted. There are few of them, however many names askers make up. */
export class Keys {
  readonly series: AllSeries
  readonly #namespaces = new Map<string, OfNamespace>()
  readonly #sinceMs: number
  #operations = 0
  #uses = 0
  /** Of an evicted namespace it is not known any more what it had before. */
  #hasEvicted = false
  #last: Key | undefined

  constructor(policy: Policy, sinceMs: number) {
    this.series = new AllSeries(policy)
    this.#sinceMs = sinceMs
  }

  of(namespace: string, operation: string, atMs: number): Key {
    const last = this.#last
    if (last && last.operation === operation && last.inNamespace.name === namespace) return last
    const inNamespace = this.#namespaces.get(namespace) ?? this.#addNamespace(namespace, atMs)
    inNamespace.usedAt = ++this.#uses
    const key = inNamespace.keys.get(operation) ?? this.#addOperation(inNamespace, operation)
    this.#last = key
    return key
  }

  /** What is known of a key; nothing where it is not. */
  find(namespace: string, operation: string): Key | undefined {
    return this.#namespaces.get(namespace)?.keys.get(operation)
  }

  windowOf(namespace: string): Window | undefined {
    return this.#namespaces.get(namespace)?.window
  }

  /** Of a namespace in which nothing has happened yet, as far as is known. */
  newWindow(atMs: number): Window {
    return new Window(this.#hasEvicted ? atMs : this.#sinceMs)
  }

  windows(): Window[] {
    return Array.from(this.#namespaces.values(), ({ window }) => window)
  }

  use(policy: Policy): void {
    this.series.use(policy)
    for (const { name, keys, others } of this.#namespaces.values()) {
      for (const key of keys.values()) key.series = this.series.of(name, key.operation)
      if (others) others.series = this.series.of(name, others.operation)
    }
  }

  #addNamespace(name: string, atMs: number): OfNamespace {
    if (this.#namespaces.size >= NAMESPACES) this.#evict()
    const inNamespace = new OfNamespace(name, this.newWindow(atMs))
    this.#namespaces.set(name, inNamespace)
    return inNamespace
  }

  #addOperation(inNamespace: OfNamespace, operation: string): Key {
    const series = this.series.of(inNamespace.name, operation)
    const room = series.operation === operation ? OPERATIONS : UNNAMED_OPERATIONS
    if (this.#operations >= room) return this.#othersOf(inNamespace)
    const key: Key = { operation, inNamespace, series, held: new HeldTimes() }
    inNamespace.keys.set(operation, key)
    this.#operations++
    return key
  }

  #othersOf(inNamespace: OfNamespace): Key {
    inNamespace.others ??= { operation: '', inNamespace, series: this.series.of(inNamespace.name, ''), held: undefined }
    return inNamespace.others
  }

  #evict(): void {
    let oldest: OfNamespace | undefined
    for (const each of this.#namespaces.values()) if (!oldest || each.usedAt < oldest.usedAt) oldest = each
    if (!oldest) return
    this.#namespaces.delete(oldest.name)
    this.#operations -= oldest.keys.size
    this.#hasEvicted = true
    this.#last = undefined
  }
}
