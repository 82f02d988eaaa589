import type { ReplyOf, RequestInput } from '@baton-lock/protocol'
import type { Rows } from './list/rows.ts'
import { addressOf, type ResourceName } from './name.ts'
import type { Row } from './resource/why.ts'
import type { ServerClock } from './server-clock.ts'
import { Disconnected } from './stream.ts'
import type { PageTimers } from './timers.ts'

interface RefresherOptions {
  readonly rows: Rows
  readonly clock: ServerClock
  readonly timers: PageTimers
  readonly request: (input: Extract<RequestInput, { type: 'get-resource' }>) => Promise<ReplyOf<'get-resource'>>
}

/** So many of those on screen are read in one beat, and so many others. */
const ON_SCREEN = 60
const OTHERS = 6
/**
 * So many go together, and then others have their turn: of those who take locks meanwhile, nobody waits for more than these.
 * One frame with all of them would be noticed in the p99 of everybody else.
 */
const TOGETHER = { count: 4, pauseMs: 20 }
/** Renewals are no events: what is held and on screen is read again after so long, and wherever somebody waits. */
const STALE_ON_SCREEN_MS = 3_000
const STALE_WAITED_FOR_MS = 5_000
const STALE_MS = 15_000
/** A server that takes long to answer is asked less: so many times as long it is left alone. */
const REST_TIMES = 3
/** More than so many are not worth reading one by one. */
const CHANGED_MAX = 3_000

/** Reads again what has changed: what is on screen first, a few at a time, so that many pages cost a server little. */
export class Refresher {
  readonly #options: RefresherOptions
  readonly #changed = new Set<ResourceName>()
  #shown: readonly ResourceName[] = []
  #isReading = false
  #notBeforeMs = -Infinity
  /** Where the look for what is stale goes on. */
  #cursor = 0
  /** More has changed than can be followed: the whole list is to be read again. */
  hasLostTrack = false

  constructor(options: RefresherOptions) {
    this.#options = options
  }

  /** These are on screen now. */
  show(names: readonly ResourceName[]): void {
    this.#shown = names
  }

  changed(name: ResourceName): void {
    if (this.#changed.size < CHANGED_MAX) this.#changed.add(name)
    else this.hasLostTrack = true
  }

  clear(): void {
    this.#changed.clear()
    this.hasLostTrack = false
  }

  /** Reads what is due, a few at a time; another beat meanwhile does nothing. */
  async beat(): Promise<void> {
    const { timers } = this.#options
    if (this.#isReading || timers.monoMs() < this.#notBeforeMs) return
    const names = this.#due()
    if (names.length === 0) return
    this.#isReading = true
    try {
      for (let at = 0; at < names.length; at += TOGETHER.count) {
        if (at > 0) await new Promise<void>((resolve) => timers.after(TOGETHER.pauseMs, resolve))
        const askedMs = timers.monoMs()
        await this.#read(names.slice(at, at + TOGETHER.count))
        const nowMs = timers.monoMs()
        this.#notBeforeMs = nowMs + REST_TIMES * (nowMs - askedMs)
      }
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
    } finally {
      this.#isReading = false
    }
  }

  async #read(names: readonly ResourceName[]): Promise<void> {
    const { rows, clock, request } = this.#options
    const asked = names.map((name) => request({ type: 'get-resource', ...addressOf(name), waiters: 1 }))
    const read = (await Promise.all(asked)).flatMap((reply) => (reply.status === 'resource' ? [reply] : []))
    const nowMs = read.at(-1)?.nowMs
    if (nowMs === undefined) return
    clock.set(nowMs)
    rows.put(
      read.map(({ resource }) => resource),
      nowMs,
    )
  }

  #due(): ResourceName[] {
    const due = this.#shown.filter((name) => this.#changed.has(name) || this.#isStale(name, { isOnScreen: true }))
    const others = [...this.#others(new Set(due))]
    const names = [...due.slice(0, ON_SCREEN), ...others]
    for (const name of names) this.#changed.delete(name)
    return names
  }

  *#others(taken: ReadonlySet<ResourceName>): Generator<ResourceName> {
    let count = 0
    for (const name of this.#changed) {
      if (count === OTHERS) return
      if (taken.has(name)) continue
      count++
      yield name
    }
    const rows = this.#options.rows.all.value
    for (let looked = 0; looked < Math.min(rows.length, 500) && count < OTHERS; looked++) {
      const { view } = rows[this.#cursor++ % rows.length]!
      const name = `${view.namespace}\n${view.resource}`
      if (taken.has(name) || !this.#isStale(name)) continue
      count++
      yield name
    }
  }

  #isStale(name: ResourceName, { isOnScreen = false } = {}): boolean {
    const row = this.#options.rows.get(name)
    if (!row) return false
    const nowMs = this.#options.clock.nowMs()
    const isLate = nowMs - row.readAtMs > staleAfterMs(row, isOnScreen)
    return isLate || momentsOf(row).some((ms) => row.readAtMs < ms && ms < nowMs)
  }
}

function staleAfterMs({ view }: Row, isOnScreen: boolean): number {
  const isLive = view.grants.length + view.waiting > 0
  if (isLive && isOnScreen) return STALE_ON_SCREEN_MS
  if (view.waiting > 0) return STALE_WAITED_FOR_MS
  // That something has ended is forgotten without an event too.
  return !isLive && view.references.length + view.kept.length === 0 ? STALE_MS : Infinity
}

/** When something may have become of a lease, a pause or a kept success that no event tells of. */
function momentsOf({ view }: Row): number[] {
  const leases = view.grants.flatMap(({ expiresAtMs, renewedAtMs }) =>
    expiresAtMs === undefined || renewedAtMs === undefined ? [] : [(renewedAtMs + expiresAtMs) / 2, expiresAtMs],
  )
  return [...leases, ...[...view.pauses, ...view.kept].map(({ untilMs }) => untilMs)]
}
