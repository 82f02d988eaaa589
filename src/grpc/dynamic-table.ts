import type { Field } from './field.ts'

/** The fields that a peer has sent and may name by their index from then on (RFC 7541, sections 2.3.2 and 4). */
export class DynamicTable {
  /** The newest is last, and has the lowest index. */
  readonly #fields: Field[] = []
  #size = 0
  #maxSize: number

  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  get size(): number {
    return this.#size
  }

  /** The newest has index 0. */
  at(index: number): Field | undefined {
    return this.#fields[this.#fields.length - 1 - index]
  }

  /** One that is larger than the table empties it, and is not in it. */
  add(field: Field): void {
    this.#evictTo(this.#maxSize - field.size)
    if (field.size > this.#maxSize) return
    this.#fields.push(field)
    this.#size += field.size
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize
    this.#evictTo(maxSize)
  }

  #evictTo(size: number): void {
    while (this.#size > size && this.#fields.length > 0) this.#size -= this.#fields.shift()!.size
  }
}
