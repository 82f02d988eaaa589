import { type AddressedEvent, defaultPolicy, type Event, type Policy, type Recipient } from '@baton-lock/core'
import type { ErrorCode, Overview, PastGrant, ServiceRequest } from '@baton-lock/protocol'
import type { Address, QueueDepth } from '@baton-lock/store/store'
import { type Key, Keys } from './keys.ts'
import { Buckets, type Series } from './series.ts'
import { Timelines } from './timelines.ts'
import { STEP_MS, Window } from './window.ts'

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>

/** The part of an overview that comes from events. */
export type Seen = Pick<Overview, 'sinceMs' | 'totals' | 'stepMs' | 'points'>

/** How long a computed overview is reused. */
const SHOWN_MS = 1_000

/** In seconds: from a disk cache to the time limit of requests. */
const STEP_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What to begin with. */
interface StatisticsOptions {
  /** The time of the start, by the clock of the store. */
  readonly sinceMs: number
  /** Names in this policy are counted by name. Default: the built-in policy. */
  readonly policy?: Policy
}

/**
 * Counts what a service sees, for the dashboard and for metrics. It gets every event, so it has to be fast. Series
 * count only what this process has caused, so that those of all servers can be added up; everything else counts all
 * events. Times are those of the events.
 */
export class Statistics {
  /** How long the store took for a step, or for steps that were taken together. */
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

  /** Counts an event. `elsewhere`: another process has caused it. */
  see({ event, to }: AddressedEvent, elsewhere = false): void {
    switch (event.type) {
      case 'granted':
        this.#granted(event, elsewhere)
        break
      case 'claimed':
        this.#timelines.claimed(event)
        break
      case 'ended':
        this.#ended(event, elsewhere)
        break
      case 'told':
        this.#told(event, to, elsewhere)
        break
      case 'queued':
        this.#lineChanged(event, 1)
        break
      case 'left':
        this.#lineChanged(event, -1)
    }
  }

  /** Counts a request that skipped at once on the success with this fence. */
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

  /** A new policy applies. */
  use(policy: Policy): void {
    this.#keys.use(policy)
  }

  /** Corrects the number of waiters, which was counted from events, by what the store says. */
  correct(queues: readonly QueueDepth[]): void {
    for (const window of this.#keys.windows()) window.waiting = 0
    this.#all.waiting = 0
    for (const { namespace, waiting } of queues) {
      this.#all.waiting += waiting
      const window = this.#keys.windowOf(namespace)
      if (window) window.waiting += waiting
    }
  }

  /** The figures of this process, by the names of the policy. */
  series(): Iterable<Series> {
    return this.#keys.series
  }

  /** The series of an operation. */
  seriesOf(namespace: string, operation: string): Series {
    return this.#keys.series.of(namespace, operation)
  }

  /** How long an operation is usually held; `undefined` if too little is known. */
  usualMs(namespace: string, operation: string): number | undefined {
    return this.#keys.find(namespace, operation)?.held?.usualMs
  }

  /** The last grants of a resource, oldest first. */
  timeline(address: Address): readonly PastGrant[] {
    return this.#timelines.of(address)
  }

  /** The last minutes, in one namespace or in all. */
  overview(namespace: string | undefined, nowMs: number): Seen {
    const window = namespace === undefined ? this.#all : (this.#keys.windowOf(namespace) ?? this.#keys.newWindow(nowMs))
    const shown = this.#shown.get(window)
    if (shown && nowMs < shown.untilMs) return shown.seen
    const { sinceMs, totals } = window
    const seen = { sinceMs, totals: { ...totals }, stepMs: STEP_MS, points: window.points(nowMs) }
    this.#shown.set(window, { seen, untilMs: nowMs + SHOWN_MS })
    return seen
  }

  #granted(event: EventOf<'granted'>, elsewhere: boolean): void {
    const { atMs, handOver, waitedMs = 0 } = event
    const { series, inNamespace } = this.#keyOf(event)
    if (!elsewhere) {
      series.grants++
      if (handOver) {
        series.handOvers++
        series.waiting.addMs(waitedMs)
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

  #ended(event: EventOf<'ended'>, elsewhere: boolean): void {
    const { atMs, heldMs } = event
    const { outcome } = event.outcome
    const { series, inNamespace, held } = this.#keyOf(event)
    const isReported = outcome === 'success' || outcome === 'failure'
    if (!elsewhere) {
      series.outcomes[outcome]++
      if (isReported) series.holding.addMs(heldMs)
    }
    if (outcome === 'success') held?.add(heldMs)
    inNamespace.window.ended(atMs, outcome)
    this.#all.ended(atMs, outcome)
    this.#timelines.ended(event)
  }

  #told(event: EventOf<'told'>, to: readonly Recipient[], elsewhere: boolean): void {
    const { atMs, answer, count } = event
    const { series, inNamespace } = this.#keyOf(event)
    const skips = answer.status === 'skip' ? count : 0
    if (!elsewhere) {
      series.skips += skips
      for (const { waitedMs = 0 } of to) series.waiting.addMs(waitedMs)
    }
    for (const window of [inNamespace.window, this.#all]) {
      window.skipped(atMs, skips)
      for (const { waitedMs = 0 } of to) window.leftLine(atMs, waitedMs)
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

/** Counts requests by type, and refusals by code. */
class Answers {
  readonly requests: Partial<Record<ServiceRequest['type'], number>> = {}
  readonly refusals: Partial<Record<ErrorCode, number>> = {}

  /** Counts a reply. */
  count(type: ServiceRequest['type'], { status, code }: { readonly status: string; readonly code?: ErrorCode }): void {
    this.requests[type] = (this.requests[type] ?? 0) + 1
    if (status === 'refused' && code !== undefined) this.refused(code)
  }

  /** Counts a refusal, even of something that was not a valid request. */
  refused(code: ErrorCode): void {
    this.refusals[code] = (this.refusals[code] ?? 0) + 1
  }
}
