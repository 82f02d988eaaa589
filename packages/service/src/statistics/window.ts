import type { Outcome } from '@baton-lock/core'
import type { OverviewPoint, Tally } from '@baton-lock/protocol'

/** The length of a point, and the number of points: five minutes. */
export const STEP_MS = 5_000
const POINTS = 60

/** Other outcomes have no chart. */
const COUNTED: Partial<Record<Outcome['outcome'], 'successes' | 'failures' | 'expired'>> = {
  success: 'successes',
  failure: 'failures',
  expired: 'expired',
}

type Counts = { -readonly [Count in keyof Tally]: number }

/** The counts of one interval. */
class Point implements Counts {
  index: number
  grants = 0
  handOvers = 0
  skips = 0
  successes = 0
  failures = 0
  expired = 0
  /** How many waited when it began. */
  waitingBefore = 0
  #waits: WaitTimes | undefined

  constructor(index: number) {
    this.index = index
  }

  waited(ms: number): void {
    this.#waits ??= new WaitTimes()
    this.#waits.add(ms)
  }

  begin(index: number): void {
    this.index = index
    this.grants = this.handOvers = this.skips = this.successes = this.failures = this.expired = 0
    this.#waits?.clear()
  }

  shown(waiting: number): OverviewPoint {
    const { index, grants, handOvers, skips, successes, failures, expired } = this
    const point = { atMs: index * STEP_MS, grants, handOvers, skips, successes, failures, expired, waiting }
    if (!this.#waits?.count) return point
    const [p50, p95, p99] = this.#waits.percentiles([0.5, 0.95, 0.99])
    return { ...point, waitedMs: { p50, p95, p99 } }
  }
}

/**
 * The last minutes as points, and totals since the start. A point is begun with its first event, so missing points
 * are empty. Events of several processes may come slightly out of order.
 */
export class Window {
  /** When counting began. */
  readonly sinceMs: number
  readonly totals: Counts = { grants: 0, handOvers: 0, skips: 0, successes: 0, failures: 0, expired: 0 }
  /** How many wait now, as far as is known. */
  waiting: number
  readonly #ring: Point[] = []
  /** Counts events that came too late for their point. */
  readonly #late = new Point(-1)
  #last: Point

  constructor(sinceMs: number, waiting = 0) {
    this.sinceMs = sinceMs
    this.waiting = waiting
    this.#last = this.#begin(indexOf(sinceMs))
    this.#last.waitingBefore = waiting
  }

  granted(atMs: number): void {
    this.totals.grants++
    this.#at(atMs).grants++
  }

  /** A grant went to a waiter. */
  handedOver(atMs: number, waitedMs: number): void {
    this.totals.handOvers++
    this.#at(atMs).handOvers++
    this.leftLine(atMs, waitedMs)
  }

  skipped(atMs: number, count: number): void {
    this.totals.skips += count
    this.#at(atMs).skips += count
  }

  ended(atMs: number, outcome: Outcome['outcome']): void {
    const what = COUNTED[outcome]
    if (what === undefined) return
    this.totals[what]++
    this.#at(atMs)[what]++
  }

  /** A waiter was granted or answered. */
  leftLine(atMs: number, waitedMs: number): void {
    this.#at(atMs).waited(waitedMs)
    this.lineChanged(atMs, -1)
  }

  /** The number of waiters has changed. */
  lineChanged(atMs: number, change: number): void {
    this.#at(atMs)
    // Waiters from before this process are not counted until the store says how many there are.
    this.waiting = Math.max(0, this.waiting + change)
  }

  /** The point of this time. */
  #at(atMs: number): Point {
    const index = indexOf(atMs)
    if (index === this.#last.index) return this.#last
    if (index > this.#last.index) {
      this.#last = this.#begin(index)
      this.#last.waitingBefore = this.waiting
      return this.#last
    }
    const point = this.#ring[index % POINTS]
    return point?.index === index ? point : this.#late
  }

  /** Oldest first. The last one is not over yet. */
  points(nowMs: number): OverviewPoint[] {
    const last = Math.max(indexOf(nowMs), this.#last.index)
    const first = Math.max(last - POINTS + 1, indexOf(this.sinceMs))
    const points: OverviewPoint[] = []
    let { waiting } = this
    for (let index = last; index >= first; index--) {
      const point = this.#pointAt(index)
      points.unshift((point ?? new Point(index)).shown(waiting))
      if (point) waiting = point.waitingBefore
    }
    return points
  }

  #begin(index: number): Point {
    const slot = index % POINTS
    const point = this.#ring[slot]
    if (point) {
      point.begin(index)
      return point
    }
    const begun = new Point(index)
    this.#ring[slot] = begun
    return begun
  }

  #pointAt(index: number): Point | undefined {
    const point = this.#ring[index % POINTS]
    return point?.index === index ? point : undefined
  }
}

function indexOf(atMs: number): number {
  return Math.floor(atMs / STEP_MS)
}

/** How many buckets a power of two is divided into. */
const CUTS = 16
const CUT_BITS = 4
const LONGEST_MS = 2 ** 31 - 1
const BUCKETS = bucketOf(LONGEST_MS) + 1

/**
 * A histogram of waiting times, for percentiles. Times below 32 ms are exact; longer ones have an error of a 32nd at
 * most.
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

  /** The percentiles of these shares, which have to rise. */
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
