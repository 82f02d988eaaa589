import { jsonSize, type Policy } from '@baton-lock/core'
import { LIMITS, type ReplyOf, type RequestType } from '@baton-lock/protocol'
import type { Pace } from '@baton-lock/store/store'
import { processMs } from '../timers/clock.ts'

/** How long one turn of the event loop may be spent on reads. The rest waits for later turns, after all other work. */
const SLICE_MS = 2

interface ReadTurnsOptions {
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number
  /** Calls back in a later turn of the event loop, after input was read. */
  readonly later?: (callback: () => void) => void
}

/**
 * Schedules all reads of a service. Reads run at once while this turn of the event loop has time left, then one per
 * turn, oldest first. So a step waits for a few milliseconds of reading at most, however much is read.
 */
export class ReadTurns {
  readonly #nowMs: () => number
  readonly #later: (callback: () => void) => void
  readonly #waiting: (() => void)[] = []
  #sinceMs: number | undefined

  constructor({ nowMs = processMs, later = setImmediate }: ReadTurnsOptions = {}) {
    this.#nowMs = nowMs
    this.#later = later
  }

  /**
   * Called before a piece of reading. Returns nothing if it may start, and then it has to start at once; otherwise a
   * promise.
   */
  next(): Promise<void> | undefined {
    if (this.#sinceMs === undefined) {
      this.#begin()
      return undefined
    }
    if (this.#waiting.length === 0 && this.#nowMs() - this.#sinceMs < SLICE_MS) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #begin(): void {
    this.#sinceMs = this.#nowMs()
    this.#later(() => this.#end())
  }

  #end(): void {
    this.#sinceMs = undefined
    const first = this.#waiting.shift()
    if (!first) return
    this.#begin()
    first()
  }
}

/** The client has gone, so the read is not made. */
export class AskerGone extends Error {
  override readonly name = 'AskerGone'
}

/** What is known of one client. */
export interface BudgetOptions {
  /** The approximate size of all replies together. Default: the limit of one reply. */
  readonly bytes?: number | undefined
  /** Whether the client has gone. Default: not known. */
  readonly isGone?: () => boolean
}

const neverGone = () => false

/**
 * The limit for the reads of one request or batch: a number of bytes, and a little time per turn. The first read is
 * always answered, however large it is. Reads that begin after the bytes are used up are refused.
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

/** A policy may be large, is read often, and never changes; a new one is another object. */
function policySize(policy: Policy): number {
  let size = policySizes.get(policy)
  if (size === undefined) {
    size = jsonSize(policy)
    policySizes.set(policy, size)
  }
  return size
}
