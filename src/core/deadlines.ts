/**
 * What is due when: a binary min-heap that knows where each item stands, so that moving a deadline costs O(log n).
 * Everything that waits for a moment stands in one of these; no lock has a timer of its own.
 */
export class Deadlines<Item> {
  readonly #heap: { item: Item; atMs: number }[] = []
  readonly #index = new Map<Item, number>()
  readonly #rank: ((item: Item) => number) | undefined

  /** `rank`: who comes first of those that are due at the same moment; without one it depends on what was set when. */
  constructor(rank?: (item: Item) => number) {
    this.#rank = rank
  }

  get size(): number {
    return this.#heap.length
  }

  nextMs(): number | undefined {
    return this.#heap[0]?.atMs
  }

  atMs(item: Item): number | undefined {
    const index = this.#index.get(item)
    return index === undefined ? undefined : this.#heap[index]!.atMs
  }

  /** The earliest item; it stays. */
  first(): Item | undefined {
    return this.#heap[0]?.item
  }

  /** Sets, moves or (with nothing given) removes the deadline of an item. */
  set(item: Item, atMs: number | undefined): void {
    const index = this.#index.get(item)
    if (atMs === undefined) {
      if (index !== undefined) this.#removeAt(index)
    } else if (index === undefined) {
      this.#place({ item, atMs }, this.#heap.length)
      this.#up(this.#heap.length - 1)
    } else {
      const entry = this.#heap[index]!
      if (entry.atMs === atMs) return
      entry.atMs = atMs
      this.#down(index)
      this.#up(this.#index.get(item)!)
    }
  }

  /** Removes and returns the earliest item if it is due. */
  takeDue(nowMs: number): Item | undefined {
    const first = this.#heap[0]
    if (!first || first.atMs > nowMs) return undefined
    this.#removeAt(0)
    return first.item
  }

  #removeAt(index: number): void {
    const removed = this.#heap[index]!
    const last = this.#heap.pop()!
    this.#index.delete(removed.item)
    if (last === removed) return
    this.#place(last, index)
    this.#down(index)
    this.#up(this.#index.get(last.item)!)
  }

  #place(entry: { item: Item; atMs: number }, index: number): void {
    this.#heap[index] = entry
    this.#index.set(entry.item, index)
  }

  #isBefore(a: { item: Item; atMs: number }, b: { item: Item; atMs: number }): boolean {
    if (a.atMs !== b.atMs || this.#rank === undefined) return a.atMs < b.atMs
    return this.#rank(a.item) < this.#rank(b.item)
  }

  #up(start: number): void {
    let index = start
    const entry = this.#heap[index]!
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.#heap[parentIndex]!
      if (!this.#isBefore(entry, parent)) break
      this.#place(parent, index)
      index = parentIndex
    }
    this.#place(entry, index)
  }

  #down(start: number): void {
    let index = start
    const entry = this.#heap[index]!
    for (;;) {
      let childIndex = 2 * index + 1
      if (childIndex >= this.#heap.length) break
      const right = this.#heap[childIndex + 1]
      if (right && this.#isBefore(right, this.#heap[childIndex]!)) childIndex++
      const child = this.#heap[childIndex]!
      if (!this.#isBefore(child, entry)) break
      this.#place(child, index)
      index = childIndex
    }
    this.#place(entry, index)
  }
}
