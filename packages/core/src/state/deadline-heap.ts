/** Where each item stands in the heap. A `Map` will do; items that are many may rather know it themselves. */
export interface Indexes<Item> {
  get(item: Item): number | undefined
  set(item: Item, index: number): void
  delete(item: Item): void
}

interface DeadlinesOptions<Item> {
  /** Who comes first of those that are due at the same moment; without it, that depends on what was set when. */
  readonly rank?: (item: Item) => number
  readonly indexes?: Indexes<Item>
}

/**
 * What is due when: a binary min-heap that knows where each item stands, so that moving a deadline costs O(log n).
 * Everything that waits for a moment stands in one of these; no lock has a timer of its own.
 */
export class Deadlines<Item> {
  /** Two lists instead of one of pairs: there may be a million of them. */
  readonly #items: Item[] = []
  readonly #timesMs: number[] = []
  readonly #indexes: Indexes<Item>
  readonly #rank: (item: Item) => number

  constructor({ rank = () => 0, indexes = new Map() }: DeadlinesOptions<Item> = {}) {
    this.#rank = rank
    this.#indexes = indexes
  }

  get size(): number {
    return this.#items.length
  }

  nextMs(): number | undefined {
    return this.#timesMs[0]
  }

  atMs(item: Item): number | undefined {
    const index = this.#indexes.get(item)
    return index === undefined ? undefined : this.#timesMs[index]
  }

  /** The earliest item if it is due; it stays. */
  due(nowMs: number): Item | undefined {
    return (this.#timesMs[0] ?? Infinity) <= nowMs ? this.#items[0] : undefined
  }

  /** Sets, moves or (with nothing given) removes the deadline of an item. */
  set(item: Item, atMs: number | undefined): void {
    const index = this.#indexes.get(item)
    if (atMs === undefined) {
      if (index !== undefined) this.#removeAt(index)
    } else if (index === undefined) {
      this.#place(item, atMs, this.#items.length)
      this.#up(this.#items.length - 1)
    } else {
      this.#timesMs[index] = atMs
      this.#down(index)
      this.#up(this.#indexes.get(item)!)
    }
  }

  #removeAt(index: number): void {
    const removed = this.#items[index]!
    const last = this.#items.pop()!
    const lastMs = this.#timesMs.pop()!
    this.#indexes.delete(removed)
    if (last === removed) return
    this.#place(last, lastMs, index)
    this.#down(index)
    this.#up(this.#indexes.get(last)!)
  }

  #place(item: Item, atMs: number, index: number): void {
    this.#items[index] = item
    this.#timesMs[index] = atMs
    this.#indexes.set(item, index)
  }

  #up(start: number): void {
    const item = this.#items[start]!
    const atMs = this.#timesMs[start]!
    let index = start
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (this.#order(item, atMs, parent) >= 0) break
      this.#place(this.#items[parent]!, this.#timesMs[parent]!, index)
      index = parent
    }
    this.#place(item, atMs, index)
  }

  #down(start: number): void {
    const item = this.#items[start]!
    const atMs = this.#timesMs[start]!
    let index = start
    for (;;) {
      let child = 2 * index + 1
      if (child >= this.#items.length) break
      const right = child + 1
      if (right < this.#items.length && this.#order(this.#items[right]!, this.#timesMs[right]!, child) < 0)
        child = right
      if (this.#order(item, atMs, child) <= 0) break
      this.#place(this.#items[child]!, this.#timesMs[child]!, index)
      index = child
    }
    this.#place(item, atMs, index)
  }

  /** Below 0 where this one is to come before the one that stands there, above 0 where it is to come after it. */
  #order(item: Item, atMs: number, index: number): number {
    return atMs - this.#timesMs[index]! || this.#rank(item) - this.#rank(this.#items[index]!)
  }
}
