import { defaultPolicy, type Policy } from '../../core/index.ts'
import type { Overview, PastGrant } from '../../protocol/index.ts'
import type { Address, QueueDepth, StoreEvent } from '../../stores/store.ts'
import { Answers } from './answers.ts'
import { Buckets } from './buckets.ts'
import { type Key, Keys } from './keys.ts'
import type { Series } from './series.ts'
import { Timelines } from './timelines.ts'
import { STEP_MS, Window } from './window.ts'

type EventOf<Type extends StoreEvent['type']> = Extract<StoreEvent, { type: Type }>

/** An overview as far as events tell it. */
export type Seen = Pick<Overview, 'sinceMs' | 'totals' | 'stepMs' | 'points'>

/** An overview is good for so long: many may ask for it. */
const SHOWN_MS = 1_000

/** In seconds: from a disk's cache to where requests are given up. */
const STEP_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What it begins with. */
export interface StatisticsOptions {
  /** When it begins, by the clock of the store. */
  readonly sinceMs: number
  /** What it names is counted by name. Default: the built-in one. */
  readonly policy?: Policy
}

/**
 * What a service has seen happen: for people who look at it, and for those who measure it. It is fed with every event, so it has
 * to cost next to nothing. Series count what this process has caused, so that they can be added up over all servers of a
 * store; all else is of every event that is heard here. Time is that of the events.
 */
export class Statistics {
  /** How long this process has waited for the store to take a step, or all that were asked for together. */
  readonly storeSteps = new Buckets(STEP_BOUNDS)
  readonly answers = new Answers()
  readonly #keys: Keys
  readonly #all: Window
  readonly #timelines = new Timelines()
  readonly #shown = new WeakMap<Window, { readonly seen: Seen; readonly untilMs: number }>()

  constructor({ sinceMs, policy = defaultPolicy }: StatisticsOptions) {
    this.#keys = new Keys(policy, sinceMs)
    this.#all = new Window(sinceMs)
  }

  /** An event of the store, of whichever process. */
  see(event: StoreEvent): void {
    switch (event.type) {
      case 'granted':
        this.#granted(event)
        break
      case 'claimed':
        this.#timelines.claimed(event)
        break
      case 'ended':
        this.#ended(event)
        break
      case 'told':
        this.#told(event)
        break
      case 'queued':
        this.#lineChanged(event, 1)
        break
      case 'left':
        this.#lineChanged(event, -1)
    }
  }

  /** An ask was answered at once: the work had been done, with this fence. */
  skipped(
    address: Address,
    { operation, fence, atMs }: { readonly operation: string; readonly fence: number; readonly atMs: number },
  ): void {
    const { series, inNamespace } = this.#keys.of(address.namespace, operation, atMs)
    series.skips++
    inNamespace.window.skipped(atMs, 1)
    this.#all.skipped(atMs, 1)
    this.#timelines.skipped(address, fence, 1)
  }

  /** Events may have been missed. */
  missed(): void {
    this.#timelines.forgetOpen()
  }

  /** Another policy counts from now on. */
  use(policy: Policy): void {
    this.#keys.use(policy)
  }

  /** So many wait, as the store says: what was counted by events is put right. */
  correct(queues: readonly QueueDepth[]): void {
    for (const window of this.#keys.windows()) window.waiting = 0
    this.#all.waiting = 0
    for (const { namespace, waiting } of queues) {
      this.#all.waiting += waiting
      const window = this.#keys.windowOf(namespace)
      if (window) window.waiting += waiting
    }
  }

  /** What this process has caused, by the names of the policy. */
  series(): Iterable<Series> {
    return this.#keys.series
  }

  /** Where an operation is counted. */
  seriesOf(namespace: string, operation: string): Series {
    return this.#keys.series.of(namespace, operation)
  }

  /** How long an operation is usually held; nothing where too little of it was seen. */
  usualMs(namespace: string, operation: string): number | undefined {
    return this.#keys.find(namespace, operation)?.held?.usualMs
  }

  /** The last grants of a resource, oldest first. */
  timeline(address: Address): readonly PastGrant[] {
    return this.#timelines.of(address)
  }

  /** How the last minutes went, in one namespace or in all. */
  overview(namespace: string | undefined, nowMs: number): Seen {
    const window = namespace === undefined ? this.#all : (this.#keys.windowOf(namespace) ?? this.#keys.newWindow(nowMs))
    const shown = this.#shown.get(window)
    if (shown && nowMs < shown.untilMs) return shown.seen
    const { sinceMs, totals } = window
    const seen = { sinceMs, totals: { ...totals }, stepMs: STEP_MS, points: window.points(nowMs) }
    this.#shown.set(window, { seen, untilMs: nowMs + SHOWN_MS })
    return seen
  }

  #granted(event: EventOf<'granted'>): void {
    const { atMs, handOver, waitedMs } = event
    const { series, inNamespace } = this.#keyOf(event)
    if (!event.elsewhere) {
      series.grants++
      if (handOver) {
        series.handOvers++
        if (waitedMs !== undefined) series.waiting.addMs(waitedMs)
      }
    }
    inNamespace.window.granted(atMs)
    this.#all.granted(atMs)
    if (handOver) {
      inNamespace.window.handedOver(atMs, waitedMs)
      this.#all.handedOver(atMs, waitedMs)
    }
    this.#timelines.granted(event)
  }

  #ended(event: EventOf<'ended'>): void {
    const { atMs, heldMs } = event
    const { outcome } = event.outcome
    const { series, inNamespace, held } = this.#keyOf(event)
    const isReported = outcome === 'success' || outcome === 'failure'
    if (!event.elsewhere) {
      series.outcomes[outcome]++
      if (isReported && heldMs !== undefined) series.holding.addMs(heldMs)
    }
    if (outcome === 'success' && heldMs !== undefined) held?.add(heldMs)
    inNamespace.window.ended(atMs, outcome)
    this.#all.ended(atMs, outcome)
    this.#timelines.ended(event)
  }

  #told(event: EventOf<'told'>): void {
    const { atMs, answer, askers } = event
    const { series, inNamespace } = this.#keyOf(event)
    const skips = answer.status === 'skip' ? askers.length : 0
    if (!event.elsewhere) {
      series.skips += skips
      for (const { waitedMs } of askers) if (waitedMs !== undefined) series.waiting.addMs(waitedMs)
    }
    for (const window of [inNamespace.window, this.#all]) {
      window.skipped(atMs, skips)
      for (const { waitedMs } of askers) window.leftLine(atMs, waitedMs)
    }
    if (answer.status === 'skip') this.#timelines.skipped(event, answer.fence, skips)
  }

  #lineChanged(event: EventOf<'queued' | 'left'>, change: number): void {
    const { inNamespace } = this.#keyOf(event)
    inNamespace.window.lineChanged(event.atMs, change)
    this.#all.lineChanged(event.atMs, change)
  }

  #keyOf({ namespace, operation, atMs }: Address & { readonly operation: string; readonly atMs: number }): Key {
    return this.#keys.of(namespace, operation, atMs)
  }
}
