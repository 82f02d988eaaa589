/** How often something took how long, in buckets of which each has a bound, in seconds. */
export class Buckets {
  readonly bounds: readonly number[]
  /** Those above the bound before, and not above this one; the last are above all bounds. */
  readonly counts: number[]
  sum = 0
  readonly #boundsMs: readonly number[]

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#boundsMs = bounds.map((bound) => bound * 1_000)
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  addMs(ms: number): void {
    const bounds = this.#boundsMs
    let index = 0
    while (index < bounds.length && ms > bounds[index]!) index++
    this.counts[index]!++
    this.sum += ms / 1_000
  }
}
