import type { Command, NamespacePolicy, Reply } from '@baton-lock/core'
import { type Model, naiveStep, newModel } from '../model/naive-model.ts'

/** One command to one resource, as its sender saw it. Times are of one clock, of whatever unit. */
export interface Operation {
  readonly invokedAt: number
  /** Absent, like `reply`: no answer came. It may have been carried out, at any time since, or not. */
  readonly returnedAt?: number
  readonly command: Command
  readonly reply?: object
}

/** An order in which the operations can have happened one by one, or how far one could be found. */
type Linearization =
  | { readonly linearizable: true; readonly order: readonly Operation[] }
  /** `order` is the longest that could be found, `stuck` what could have come next, with the answer it should have had. */
  | { readonly linearizable: false; readonly order: readonly Operation[]; readonly stuck: readonly Stuck[] }

/** An operation that could have come next, and the answer that it should have had. */
interface Stuck {
  readonly operation: Operation
  readonly expected: object
}

/** By which rules the operations are judged. */
interface LinearizabilityOptions {
  readonly policy: NamespacePolicy
}

/**
 * Searches for one order of the operations of one resource that the naive model agrees with, in which none comes before
 * another that had returned before it was sent (Wing and Gong; what was tried before is not tried again, as Lowe does).
 *
 * Time stands still in it: no lease, claim, kept success or remembered answer may run out during the history, and no
 * session. Where an answer tells a time (`atMs`) or explains itself (`message`), that is not compared.
 */
export function linearize(operations: readonly Operation[], { policy }: LinearizabilityOptions): Linearization {
  return new Search(operations, policy).run()
}

/** Any moment will do. */
const NOW_MS = 1_700_000_000_000

class Search {
  readonly #operations: readonly Operation[]
  readonly #policy: NamespacePolicy
  readonly #done: boolean[]
  readonly #order: Operation[] = []
  readonly #seen = new Set<string>()
  #longest: readonly Operation[] = []
  #stuck: readonly Stuck[] = []

  constructor(operations: readonly Operation[], policy: NamespacePolicy) {
    // The first to return is most often the first to happen: fewer wrong turns.
    this.#operations = [...operations].sort((a, b) => returnOf(a) - returnOf(b))
    this.#policy = policy
    this.#done = operations.map(() => false)
  }

  run(): Linearization {
    const linearizable = this.#extend(newModel())
    if (linearizable) return { linearizable, order: this.#order }
    return { linearizable, order: this.#longest, stuck: this.#stuck }
  }

  /** Whether the order so far, which has led to this state, can be completed. */
  #extend(state: Model): boolean {
    const untilAt = this.#firstReturn()
    if (untilAt === Infinity) return true
    const stuck: Stuck[] = []
    const before = canonical(state)
    for (const [index, operation] of this.#operations.entries()) {
      if (this.#done[index] || operation.invokedAt > untilAt) continue
      const next = structuredClone(state)
      const expected = this.#apply(next, operation.command)
      if (operation.reply && comparable(expected) !== comparable(operation.reply)) {
        stuck.push({ operation, expected })
        continue
      }
      const after = canonical(next)
      const changesNothing = after === before
      // Whether one that nobody heard of and that changes nothing has happened makes no difference.
      if (changesNothing && !operation.reply) continue
      if (this.#place(index, after) && this.#extend(next)) return true
      this.#takeBack(index)
      // One that changes nothing and has its right answer now can come now, if there is an order at all.
      if (changesNothing) return false
    }
    if (this.#order.length >= this.#longest.length) [this.#longest, this.#stuck] = [[...this.#order], stuck]
    return false
  }

  /** Puts it next. False where this state, with these operations left, has led nowhere before. */
  #place(index: number, after: string): boolean {
    this.#done[index] = true
    this.#order.push(this.#operations[index]!)
    const name = `${this.#done.map(Number).join('')} ${after}`
    if (this.#seen.has(name)) return false
    this.#seen.add(name)
    return true
  }

  #takeBack(index: number): void {
    this.#order.pop()
    this.#done[index] = false
  }

  /** None that was sent after this can be next. Infinite when everything that was answered has its place. */
  #firstReturn(): number {
    return Math.min(...this.#operations.map((each, index) => (this.#done[index] ? Infinity : returnOf(each))))
  }

  #apply(state: Model, command: Command): Reply {
    return naiveStep(state, command, { nowMs: NOW_MS, policy: this.#policy, alive: () => true })
  }
}

/** The same for states that no command can tell apart: what is looked up by name has no order. */
function canonical(state: Model): string {
  const { answers, released, kept, references, ...ordered } = state
  const unordered = [answers, released, kept, references].map((list) => list.map((each) => JSON.stringify(each)).sort())
  return JSON.stringify([ordered, unordered])
}

function returnOf({ reply, returnedAt = Infinity }: Operation): number {
  return reply ? returnedAt : Infinity
}

function comparable(reply: object): string {
  const entries = Object.entries(reply).filter(
    ([name, value]) => value !== undefined && name !== 'atMs' && name !== 'message',
  )
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
