/** A power of two is cut into so many buckets. */
const CUTS = 16
const CUT_BITS = 4
const LONGEST_MS = 2 ** 31 - 1
const BUCKETS = bucketOf(LONGEST_MS) + 1

/**
 * How long many have waited, to be asked for percentiles. Buckets grow with what they count: times below 32 ms are exact, and of
 * longer ones what is told is wrong by a 32nd at most.
 */
export class WaitTimes {
  readonly #counts = new Uint32Array(BUCKETS)
  #count = 0

  get count(): number {
    return this.#count
  }

  add(waitedMs: number): void {
    this.#counts[bucketOf(Math.min(Math.max(0, Math.round(waitedMs)), LONGEST_MS))]!++
    this.#count++
  }

  clear(): void {
    if (this.#count === 0) return
    this.#counts.fill(0)
    this.#count = 0
  }

  /** What these shares of them have waited at most; the shares rise. */
  percentiles<const Shares extends readonly number[]>(shares: Shares): { [Index in keyof Shares]: number } {
    const found: number[] = []
    let bucket = -1
    let before = 0
    for (const share of shares) {
      const rank = Math.max(1, Math.ceil(share * this.#count))
      while (before < rank && bucket < BUCKETS - 1) before += this.#counts[++bucket]!
      found.push(middleOf(bucket))
    }
    return found as { [Index in keyof Shares]: number }
  }
}

function bucketOf(ms: number): number {
  if (ms < 2 * CUTS) return ms
  const power = 31 - Math.clz32(ms)
  return (power - CUT_BITS) * CUTS + (ms >>> (power - CUT_BITS))
}

function middleOf(bucket: number): number {
  if (bucket < 2 * CUTS) return bucket
  const power = Math.floor(bucket / CUTS) + CUT_BITS - 1
  const width = 2 ** (power - CUT_BITS)
  return 2 ** power + (bucket % CUTS) * width + Math.floor((width - 1) / 2)
}
