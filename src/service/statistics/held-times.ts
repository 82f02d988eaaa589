/** So many of the last ones are known, and so many say something. */
const KEPT = 64
const ENOUGH = 5

/** How long an operation was held until it succeeded: the last times. */
export class HeldTimes {
  readonly #times: number[] = []
  #next = 0
  #median: number | undefined

  add(heldMs: number): void {
    this.#times[this.#next] = heldMs
    this.#next = (this.#next + 1) % KEPT
    this.#median = undefined
  }

  /** What is usual: the median. Nothing where too few are known. */
  get usualMs(): number | undefined {
    if (this.#times.length < ENOUGH) return undefined
    this.#median ??= medianOf(this.#times)
    return this.#median
  }
}

function medianOf(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
