/**
 * Items in no order, each at a number that whoever put it in keeps. For what comes and goes with every ask: a `Set` or a `Map`
 * of objects leaves an old table behind each time that it is tidied, and those that have grown old keep all that was in them from
 * being collected. In a `Map` of numbers there is nothing to keep.
 */
export class Bag<Item extends object> implements Iterable<Item> {
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

  /** Once it is out, this does nothing. */
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
