import { jsonSize, type Policy } from '../core/index.ts'
import { LIMITS, type ReplyOf, type RequestType } from '../protocol/index.ts'
import type { Pace } from '../stores/store.ts'
import type { ReadTurns } from './read-turns.ts'

/** Whoever asked does not wait for the answer any more: it is not made. */
export class AskerGone extends Error {
  override readonly name = 'AskerGone'
}

/** What is known of one asker. */
export interface BudgetOptions {
  /** What it may be told in all, about. Default: as much as a reply may tell. */
  readonly bytes?: number | undefined
  /** Whether nobody waits for the answer any more. Default: that is not known. */
  readonly isGone?: () => boolean
}

const neverGone = () => false

/**
 * What the reads of one asker, in one request or one batch, may cost: so many bytes, and a little time in each turn. The first
 * read is always answered, however large it is; those that begin when the bytes are spent are not.
 */
export class ReadBudget implements Pace {
  readonly #turns: ReadTurns
  readonly #isGone: () => boolean
  #bytes: number

  constructor(turns: ReadTurns, { bytes = LIMITS.replyBytes, isGone = neverGone }: BudgetOptions) {
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
