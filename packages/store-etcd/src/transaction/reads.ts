import type { Etcd, Found, Operation, Outcome, RangeOptions } from '../etcd.ts'
import { foundIn } from './found.ts'

/** Reads that go together, of one moment. Each says itself how its answer is found. */
export class Reads {
  readonly #operations: Operation[] = []
  readonly #isSerializable: boolean
  #outcomes: readonly Outcome[] = []
  revision = 0
  /** Nothing was read: it was known here. */
  isRecalled = false

  constructor(isSerializable: boolean) {
    this.#isSerializable = isSerializable
  }

  /** Returns what was found, once it was read. */
  add(range: RangeOptions): () => Found {
    return this.addOperation({ range: { ...range, serializable: this.#isSerializable } }, foundIn)
  }

  addOperation<Result>(operation: Operation, resultOf: (outcome: Outcome) => Result): () => Result {
    const index = this.#operations.push(operation) - 1
    return () => resultOf(this.#outcomes[index])
  }

  get size(): number {
    return this.#operations.length
  }

  /** To be part of another transaction, which reads it where it fails. */
  get operations(): readonly Operation[] {
    return this.#operations
  }

  /** All ranges that were read, and what was found. */
  *found(): Iterable<readonly [RangeOptions, Found]> {
    for (const [index, operation] of this.#operations.entries())
      if ('range' in operation) yield [operation.range, foundIn(this.#outcomes[index])]
  }

  take(outcomes: readonly Outcome[], revision: number): void {
    this.#outcomes = outcomes
    this.revision = revision
  }

  /** Answers all of them by what is known here, as of that revision. False, and nothing is answered, where one is not known. */
  recall(find: (range: RangeOptions) => Found | undefined, revision: number): boolean {
    const outcomes: Outcome[] = []
    for (const operation of this.#operations) {
      const range = 'range' in operation ? find(operation.range) : undefined
      if (!range) return false
      outcomes.push({ range })
    }
    this.take(outcomes, revision)
    this.isRecalled = true
    return true
  }

  async run(etcd: Etcd): Promise<this> {
    if (this.size === 0) return this
    const { outcomes, revision } = await etcd.txn({ compare: [], success: this.operations })
    this.take(outcomes, revision)
    return this
  }
}
