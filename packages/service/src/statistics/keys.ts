import type { Policy } from '@baton-lock/core'
import { AllSeries, type Series } from './series.ts'
import { Window } from './window.ts'

/**
 * How many namespaces have their own figures. Beyond that, the one that had no event for the longest time is dropped.
 */
const NAMESPACES = 100
/** How many operations have their own figures, and from which number on only those that the policy names. */
const OPERATIONS = 2_000
const UNNAMED_OPERATIONS = 500

/** The figures of one operation in one namespace, by the names that clients use. */
export interface Key {
  readonly operation: string
  readonly inNamespace: OfNamespace
  series: Series
  /** Absent if there are too many operations to keep their times. */
  readonly held: HeldTimes | undefined
}

/** The figures of one namespace. A client that may see only this namespace gets nothing else. */
class OfNamespace {
  readonly name: string
  readonly window: Window
  readonly keys = new Map<string, Key>()
  /** Figures of the operations that there is no room for. */
  others: Key | undefined
  /** The number of the last lookup that used it. */
  usedAt = 0

  constructor(name: string, window: Window) {
    this.name = name
    this.window = window
  }
}

/** Finds the figures of an operation. Their number is limited, however many names clients make up. */
export class Keys {
  readonly series: AllSeries
  readonly #namespaces = new Map<string, OfNamespace>()
  readonly #sinceMs: number
  #operations = 0
  #uses = 0
  /** The earlier figures of a dropped namespace are lost. */
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

  /** The figures of an operation; `undefined` if there are none. */
  find(namespace: string, operation: string): Key | undefined {
    return this.#namespaces.get(namespace)?.keys.get(operation)
  }

  windowOf(namespace: string): Window | undefined {
    return this.#namespaces.get(namespace)?.window
  }

  /** For a namespace without any known events. */
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

/** How many of the last times are kept, and how many are enough for a median. */
const KEPT = 64
const ENOUGH = 5

/** How long an operation was held until it succeeded, for its last grants. */
class HeldTimes {
  readonly #times: number[] = []
  #next = 0
  #median: number | undefined

  add(heldMs: number): void {
    this.#times[this.#next] = heldMs
    this.#next = (this.#next + 1) % KEPT
    this.#median = undefined
  }

  /** The median; `undefined` if too few times are known. */
  get usualMs(): number | undefined {
    if (this.#times.length < ENOUGH) return undefined
    this.#median ??= medianOf(this.#times)
    return this.#median
  }
}

function medianOf(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
