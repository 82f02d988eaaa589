/** Items with consecutive numbers. The oldest is found at once, and adding and deleting costs no rehashing. */
export class Numbered<Item extends object> {
  #items: (Item | undefined)[] = []
  /** The index of the oldest item; those before it are deleted. */
  #head = 0
  /** The number of index 0. */
  #from = 1

  /** Returns its number. */
  add(item: Item): number {
    this.#items.push(item)
    return this.#from + this.#items.length - 1
  }

  get(number: number): Item | undefined {
    return this.#items[number - this.#from]
  }

  replace(number: number, item: Item): void {
    this.#items[number - this.#from] = item
  }

  delete(number: number): void {
    this.#items[number - this.#from] = undefined
    while (this.#head < this.#items.length && this.#items[this.#head] === undefined) this.#head++
    if (this.#head > TIDY_FROM && this.#head * 2 > this.#items.length) this.#tidy()
  }

  clear(): void {
    this.#head = this.#items.length
    this.#tidy()
  }

  get isEmpty(): boolean {
    return this.#head === this.#items.length
  }

  /** The number of the oldest item. */
  get oldest(): number | undefined {
    return this.isEmpty ? undefined : this.#from + this.#head
  }

  *entries(): Generator<readonly [number: number, item: Item]> {
    for (let at = this.#head; at < this.#items.length; at++) {
      const item = this.#items[at]
      if (item) yield [this.#from + at, item]
    }
  }

  #tidy(): void {
    this.#items = this.#items.slice(this.#head)
    this.#from += this.#head
    this.#head = 0
  }
}

const TIDY_FROM = 1_000
