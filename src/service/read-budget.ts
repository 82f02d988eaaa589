import { jsonSize, type Policy } from '../core/index.ts'
import type { ReplyOf, RequestType } from '../protocol/index.ts'
import type { Pace } from '../stores/store.ts'
import type { ReadTurns } from './read-turns.ts'

/** Whoever asked does not wait for the answer any more: it is not made. */
export class AskerGone extends Error {
  override readonly name = 'AskerGone'
}

interface ReadBudgetOptions {
  readonly turns: ReadTurns
  /** What may be told in all, about. */
  readonly bytes: number
  /** Whether nobody waits for the answer any more. */
  readonly isGone: () => boolean
}

/**
 * What the reads of one asker, in one request or one batch, may cost: so many bytes, and a little time in each turn. The first
 * read is always answered, however large it is; those that begin when the bytes are spent are not.
 */
export class ReadBudget implements Pace {
  readonly #turns: ReadTurns
  readonly #isGone: () => boolean
  #bytes: number

  constructor({ turns, bytes, isGone }: ReadBudgetOptions) {
    this.#turns = turns
    this.#bytes = bytes
    this.#isGone = isGone
  }

  get isSpent(): boolean {
    return this.#bytes <= 0
  }

  get pageBytes(): number {
    return this.#bytes
  }

  pause(): Promise<void> | undefined {
    this.#check()
    return this.#turns.next()?.then(() => this.#check())
  }

  spend(reply: ReplyOf<RequestType>): void {
    this.#bytes -= reply.status === 'policy' ? policySize(reply.policy) : jsonSize(reply)
  }

  #check(): void {
    if (this.#isGone()) throw new AskerGone()
  }
}

const policySizes = new WeakMap<Policy, number>()

/** A policy may be large, is read often, and never changes: another one takes its place. */
function policySize(policy: Policy): number {
  let size = policySizes.get(policy)
  if (size === undefined) {
    size = jsonSize(policy)
    policySizes.set(policy, size)
  }
  return size
}
