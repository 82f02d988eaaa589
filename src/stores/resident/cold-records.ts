import { Slot } from './slot.ts'

/** A resource as bytes in a page: its name, then its text. */
export interface ColdRecord {
  readonly page: Buffer
  readonly nameFrom: number
  /** Where the name ends and the text begins. */
  readonly from: number
  readonly to: number
  /** Of the resource id. */
  readonly hash: number
  readonly deadlineMs: number
}

const FIRST_CAPACITY = 1_024
const NONE = 0xffffffff
const nothing: Buffer = Buffer.alloc(0)

/**
 * Resources that were read from elsewhere and that nobody has asked for since: not one object each but columns of numbers,
 * so that a million of them are there in a moment and cost the garbage collector nothing. They leave one by one, when they
 * are asked for or due, and never come back.
 */
export class ColdRecords {
  #capacity = 0
  #count = 0
  #size = 0
  readonly #pages: Buffer[] = []
  /** How many there are on each page: one with none is let go. */
  readonly #onPage: number[] = []
  /** Numbers of pages that were let go. Every snapshot brings new pages: without these there would be ever more of them. */
  readonly #free: number[] = []
  /** The page that was entered last, and its number. */
  #newest = { page: nothing, number: -1 }
  #page = new Uint32Array(0)
  #nameFrom = new Uint32Array(0)
  #from = new Uint32Array(0)
  #to = new Uint32Array(0)
  #hash = new Uint32Array(0)
  #deadlineMs = new Float64Array(0)
  /** Open addressing by hash; filled when first asked. */
  #table: Uint32Array | undefined
  /** A heap of those that are due some time, and how many of it are left. */
  #heap: Uint32Array | undefined
  #heapSize = 0

  /** How many are left. */
  get size(): number {
    return this.#size
  }

  /** How many pages they stand on, or have stood on at once. */
  get pageCount(): number {
    return this.#pages.length
  }

  /** How many there were: they are numbered from 0. */
  get count(): number {
    return this.#count
  }

  add({ page, nameFrom, from, to, hash, deadlineMs }: ColdRecord): void {
    if (this.#table || this.#heap) throw new Error('records are added before the first is asked for')
    if (this.#count === this.#capacity) this.#grow()
    const index = this.#count++
    this.#size++
    this.#page[index] = this.#enter(page)
    this.#nameFrom[index] = nameFrom
    this.#from[index] = from
    this.#to[index] = to
    this.#hash[index] = hash
    this.#deadlineMs[index] = deadlineMs
  }

  find(name: string, hash: number): number | undefined {
    if (this.#size === 0) return undefined
    this.#table ??= this.#newTable()
    const mask = this.#table.length - 1
    for (let at = spread(hash) & mask; this.#table[at] !== NONE; at = (at + 1) & mask) {
      const index = this.#table[at]!
      if (this.#hash[index] === hash && this.isThere(index) && this.nameOf(index) === name) return index
    }
    return undefined
  }

  isThere(index: number): boolean {
    return this.#page[index] !== NONE
  }

  nameOf(index: number): string {
    return this.#pages[this.#page[index]!]!.toString('utf8', this.#nameFrom[index]!, this.#from[index]!)
  }

  /** A look at one; it stays. */
  slotOf(index: number, generation: number): Slot {
    const slot = Slot.named(this.nameOf(index), generation)
    slot.setText(this.#pages[this.#page[index]!]!, this.#from[index]!, this.#to[index]!)
    return slot
  }

  recordOf(index: number): ColdRecord {
    return {
      page: this.#pages[this.#page[index]!]!,
      nameFrom: this.#nameFrom[index]!,
      from: this.#from[index]!,
      to: this.#to[index]!,
      hash: this.#hash[index]!,
      deadlineMs: this.#deadlineMs[index]!,
    }
  }

  deadlineMs(index: number): number | undefined {
    const atMs = this.#deadlineMs[index]!
    return atMs === Infinity ? undefined : atMs
  }

  remove(index: number): void {
    this.#leave(this.#page[index]!)
    this.#page[index] = NONE
    this.#size--
  }

  /** The same bytes stand elsewhere now. */
  move(index: number, { page, nameFrom }: { readonly page: Buffer; readonly nameFrom: number }): void {
    const by = nameFrom - this.#nameFrom[index]!
    this.#leave(this.#page[index]!)
    this.#page[index] = this.#enter(page)
    this.#nameFrom[index]! += by
    this.#from[index]! += by
    this.#to[index]! += by
  }

  nextMs(): number | undefined {
    const first = this.first()
    return first === undefined ? undefined : this.#deadlineMs[first]
  }

  /** The one that is due first. */
  first(): number | undefined {
    if (this.#size === 0) return undefined
    this.#heap ??= this.#newHeap()
    while (this.#heapSize > 0 && !this.isThere(this.#heap[0]!)) this.#dropFirst(this.#heap)
    return this.#heapSize > 0 ? this.#heap[0] : undefined
  }

  #enter(page: Buffer): number {
    if (this.#newest.page !== page) {
      const number = this.#free.pop() ?? this.#pages.length
      this.#newest = { page, number }
      this.#pages[number] = page
      this.#onPage[number] = 0
    }
    this.#onPage[this.#newest.number]!++
    return this.#newest.number
  }

  #leave(page: number): void {
    if (--this.#onPage[page]! > 0) return
    this.#pages[page] = nothing
    this.#free.push(page)
    if (this.#newest.number === page) this.#newest = { page: nothing, number: -1 }
  }

  #grow(): void {
    this.#capacity = Math.max(FIRST_CAPACITY, 2 * this.#capacity)
    const wider = (column: Uint32Array) => {
      const grown = new Uint32Array(this.#capacity)
      grown.set(column)
      return grown
    }
    this.#page = wider(this.#page)
    this.#nameFrom = wider(this.#nameFrom)
    this.#from = wider(this.#from)
    this.#to = wider(this.#to)
    this.#hash = wider(this.#hash)
    const deadlines = new Float64Array(this.#capacity)
    deadlines.set(this.#deadlineMs)
    this.#deadlineMs = deadlines
  }

  #newTable(): Uint32Array {
    let capacity = 16
    while (capacity < 2 * this.#count) capacity *= 2
    const table = new Uint32Array(capacity).fill(NONE)
    for (let index = 0; index < this.#count; index++) {
      let at = spread(this.#hash[index]!) & (capacity - 1)
      while (table[at] !== NONE) at = (at + 1) & (capacity - 1)
      table[at] = index
    }
    return table
  }

  #newHeap(): Uint32Array {
    const heap = new Uint32Array(this.#count)
    for (let index = 0; index < this.#count; index++) {
      if (this.#deadlineMs[index] !== Infinity) heap[this.#heapSize++] = index
    }
    for (let at = (this.#heapSize >> 1) - 1; at >= 0; at--) this.#down(heap, at)
    return heap
  }

  #dropFirst(heap: Uint32Array): void {
    heap[0] = heap[--this.#heapSize]!
    this.#down(heap, 0)
  }

  #down(heap: Uint32Array, start: number): void {
    const index = heap[start]!
    const atMs = this.#deadlineMs[index]!
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#heapSize) break
      const right = child + 1
      if (right < this.#heapSize && this.#deadlineMs[heap[right]!]! < this.#deadlineMs[heap[child]!]!) child = right
      if (this.#deadlineMs[heap[child]!]! >= atMs) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = index
  }
}

/** FNV leaves the low bits of similar texts similar. */
function spread(hash: number): number {
  return Math.imul(hash ^ (hash >>> 16), 0x45d9f3b) >>> 0
}
