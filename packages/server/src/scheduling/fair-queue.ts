import { processMs } from '@baton-lock/service'

/** So long work is done as it comes in one turn of the event loop; what is left waits for the next, after input was read. */
const TURN_MS = 2
/** After so long, half of what was used is forgotten. */
const HALF_LIFE_MS = 1_000
/** Who has used less than this lately comes before who has used more. */
const LEVELS_MS = [2, 8, 32, 128, Infinity]
/** One in so many pieces of work is that of whoever has waited longest: nobody waits for ever. */
const TURN_OF_THE_OLDEST = 8

/** What one client has used of the processor lately, and what it wants done next. Made by whoever knows it: a token, a connection. */
export class Account {
  readonly waiting: (() => void)[] = []
  isInLine = false
  /** Where it is in line, its place among all that were ever in line. */
  place = 0
  usedMs = 0
  atMs = 0
}

interface FairQueueOptions {
  /** Milliseconds that only go forward. */
  readonly nowMs?: () => number
  /** Calls back in a later turn of the event loop, after input was read. */
  readonly later?: (callback: () => void) => void
}

/**
 * All that clients want done, in turns. While there is time left in this turn of the event loop it is done as it comes, and
 * at once. Beyond that it waits, and those who have used least lately come first: however much one client sends, and however
 * dear that is to answer, another one waits for a piece of its work at most. What one client sends is done in its order.
 */
export class FairQueue {
  readonly #nowMs: () => number
  readonly #later: (callback: () => void) => void
  /** Accounts with work that waits, each once. */
  readonly #levels: Account[][] = LEVELS_MS.map(() => [])
  #spentMs = 0
  #isTurn = false
  #isDoing = false
  #places = 0
  #waiting = 0
  #done = 0

  /**
   * While it is so, nothing waits longer than until the next turn: what has arrived has to be done before anything runs out
   * (`Clock.onCatchUp`).
   */
  isUrgent = false

  constructor({ nowMs = processMs, later = setImmediate }: FairQueueOptions = {}) {
    this.#nowMs = nowMs
    this.#later = later
  }

  get #hasTime(): boolean {
    return this.#spentMs < TURN_MS || this.isUrgent
  }

  run(account: Account, work: () => void): void {
    if (this.#waiting === 0 && this.#hasTime && !this.#isDoing) {
      this.#do(account, work)
      return
    }
    this.#waiting++
    account.waiting.push(work)
    this.#line(account)
    this.#begin()
  }

  #line(account: Account): void {
    if (account.isInLine || account.waiting.length === 0) return
    account.isInLine = true
    account.place = ++this.#places
    const usedMs = usedBy(account, this.#nowMs())
    this.#levels[LEVELS_MS.findIndex((levelMs) => usedMs < levelMs)]!.push(account)
  }

  #do(account: Account, work: () => void): void {
    this.#begin()
    const startMs = this.#nowMs()
    this.#isDoing = true
    try {
      work()
    } finally {
      this.#isDoing = false
      const endMs = this.#nowMs()
      account.usedMs = usedBy(account, endMs) + endMs - startMs
      account.atMs = endMs
      this.#spentMs += endMs - startMs
    }
  }

  #begin(): void {
    if (this.#isTurn) return
    this.#isTurn = true
    this.#later(() => this.#turn())
  }

  #turn(): void {
    this.#isTurn = false
    this.#spentMs = 0
    // Also where one throws, the others have their turn.
    if (this.#waiting > 0) this.#begin()
    while (this.#waiting > 0 && this.#hasTime) this.#doNext()
  }

  #doNext(): void {
    const account = this.#next()
    account.isInLine = false
    this.#waiting--
    try {
      this.#do(account, account.waiting.shift()!)
    } finally {
      this.#line(account)
    }
  }

  #next(): Account {
    const levels = this.#levels.filter((level) => level.length > 0)
    if (++this.#done % TURN_OF_THE_OLDEST > 0) return levels[0]!.shift()!
    return levels.reduce((oldest, level) => (level[0]!.place < oldest[0]!.place ? level : oldest)).shift()!
  }
}

function usedBy({ usedMs, atMs }: Account, nowMs: number): number {
  return usedMs * 2 ** ((atMs - nowMs) / HALF_LIFE_MS)
}
