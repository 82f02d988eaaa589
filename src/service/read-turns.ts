import { processMs } from './clock.ts'

/** So long is read in one turn of the event loop; what is left has its turn later, and everybody else before that. */
const SLICE_MS = 2

interface ReadTurnsOptions {
  /** Milliseconds that only go forward. */
  readonly nowMs?: () => number
  /** Calls back in a later turn of the event loop, after input was read. */
  readonly later?: (callback: () => void) => void
}

/**
 * All reads of a service take turns: while there is time left in this turn of the event loop they go on at once, and then one
 * a turn, the oldest first. So however many ask, and however much, a step waits for some milliseconds of reading at most.
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

  /** Asked before a piece of reading: nothing where it may begin, and then at once, as its time is taken from here on; or when. */
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
