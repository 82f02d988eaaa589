/** The part of a `Map` by name that the rules use; a `Map` will do. */
export interface Entries<Value> extends Iterable<[string, Value]> {
  readonly size: number
  get(key: string): Value | undefined
  has(key: string): boolean
  delete(key: string): boolean
  keys(): IterableIterator<string>
  values(): IterableIterator<Value>
}

/** Entries that can be added to. */
export interface WritableEntries<Value> extends Entries<Value> {
  set(key: string, value: Value): unknown
}

/**
 * A map that has one entry at most nearly always: that one stands in it, and only a second one makes a real `Map` of it. An empty
 * `Map` costs two hundred bytes, and there may be a million locks. In the order of insertion, as a `Map`; what is walked over
 * may be deleted or set again meanwhile.
 */
export class SmallMap<Value> implements WritableEntries<Value> {
  #key: string | undefined
  #value: Value | undefined
  /** All of them, once there were two. */
  #map: Map<string, Value> | undefined

  constructor(entries?: Iterable<readonly [string, Value]>) {
    if (entries) for (const [key, value] of entries) this.set(key, value)
  }

  get size(): number {
    if (this.#map) return this.#map.size
    return this.#key === undefined ? 0 : 1
  }

  get(key: string): Value | undefined {
    if (this.#map) return this.#map.get(key)
    return this.#key === key ? this.#value : undefined
  }

  has(key: string): boolean {
    return this.#map ? this.#map.has(key) : this.#key === key
  }

  set(key: string, value: Value): void {
    if (this.#map) this.#map.set(key, value)
    else if (this.#key === undefined || this.#key === key) {
      this.#key = key
      this.#value = value
    } else {
      this.#map = new Map<string, Value>([[this.#key, this.#value as Value]]).set(key, value)
      this.#forget()
    }
  }

  delete(key: string): boolean {
    if (this.#map) return this.#map.delete(key)
    if (this.#key !== key) return false
    this.#forget()
    return true
  }

  keys(): IterableIterator<string> {
    if (this.#map) return this.#map.keys()
    return (this.#key === undefined ? nothing : [this.#key]).values()
  }

  values(): IterableIterator<Value> {
    if (this.#map) return this.#map.values()
    return (this.#key === undefined ? nothing : [this.#value as Value]).values()
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    if (this.#map) return this.#map.entries()
    const entries: [string, Value][] = this.#key === undefined ? nothing : [[this.#key, this.#value as Value]]
    return entries.values()
  }

  #forget(): void {
    this.#key = undefined
    this.#value = undefined
  }
}

const nothing: never[] = []

/** Shared by all that have nothing: whoever has something to put in takes a map of its own first. */
export const noEntries: Entries<never> = new SmallMap<never>()
