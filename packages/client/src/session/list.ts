/**
 * Items in no order, each at a number that whoever added it keeps. For items that come and go with every request: a `Set`, or a
 * `Map` with objects as keys, is rehashed as they do, and its old tables keep what was in them from being collected.
 */
export class List<Item extends object> implements Iterable<Item> {
  readonly #items: (Item | undefined)[] = []
  readonly #free: number[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(item: Item): number {
    this.#size++
    const at = this.#free.pop() ?? this.#items.length
    this.#items[at] = item
    return at
  }

  at(at: number): Item | undefined {
    return this.#items[at]
  }

  /** Does nothing if the item was removed before. */
  remove(item: Item, at: number): void {
    if (this.#items[at] !== item) return
    this.#size--
    this.#items[at] = undefined
    this.#free.push(at)
  }

  *[Symbol.iterator](): Generator<Item> {
    for (const item of this.#items) if (item) yield item
  }
}
