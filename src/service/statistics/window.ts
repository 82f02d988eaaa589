import type { Outcome } from '../../core/index.ts'
import type { OverviewPoint, Tally } from '../../protocol/index.ts'
import { WaitTimes } from './wait-times.ts'

/** How long a point is, and how many there are: five minutes. */
export const STEP_MS = 5_000
const POINTS = 60

/** Of the others there is no chart. */
const COUNTED: Partial<Record<Outcome['outcome'], 'successes' | 'failures' | 'expired'>> = {
  success: 'successes',
  failure: 'failures',
  expired: 'expired',
}

type Counts = { -readonly [Count in keyof Tally]: number }

/** What was counted in one piece of time. */
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
 * The last minutes in points, and all that was counted since it began. Points are begun when something happens in them; in those
 * that are missing nothing has. Events of several processes may come a little out of order.
 */
export class Window {
  /** When it began to count. */
  readonly sinceMs: number
  readonly totals: Counts = { grants: 0, handOvers: 0, skips: 0, successes: 0, failures: 0, expired: 0 }
  /** How many wait now, as far as is known. */
  waiting: number
  readonly #ring: Point[] = []
  /** What came too late for its point is counted there. */
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

  /** A grant went to one who had waited. */
  handedOver(atMs: number, waitedMs: number | undefined): void {
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

  /** One of those who waited was granted or told. For how long, servers of an older version do not say. */
  leftLine(atMs: number, waitedMs: number | undefined): void {
    if (waitedMs !== undefined) this.#at(atMs).waited(waitedMs)
    this.lineChanged(atMs, -1)
  }

  /** So many more wait. */
  lineChanged(atMs: number, change: number): void {
    this.#at(atMs)
    // Those who waited when this process began are not counted until the store has said how many they are.
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

  /** Oldest first; the last one is still going on. */
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
