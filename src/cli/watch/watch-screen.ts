import { setTimeout as delay } from 'node:timers/promises'
import type { Baton, ResourceStatus, Timeline } from '../../client/api.ts'
import { RefusedError } from '../../client/errors.ts'
import type { Overview } from '../../protocol/index.ts'
import type { CliContext } from '../context.ts'
import { paintFor } from '../print/paint.ts'
import type { Key } from './keys.ts'
import { ResourceReader } from './resource-reader.ts'
import { drawScreen, type Picture, type Screen } from './screen.ts'
import { Terminal } from './terminal.ts'
import { beginning, press, type Ui } from './ui.ts'
import { type Address, nameOf, WatchedResources } from './watched.ts'

interface WatchOptions {
  readonly namespace: string | undefined
  /** Only this one. */
  readonly resource: string | undefined
  /** Where Baton is, for the heading. */
  readonly place: string
}

/** Ages go on, and what is new ceases to be. */
const TICK_MS = 1_000
/** Many changes at once are one drawing. */
const DRAW_MS = 100
const OVERVIEW_MS = 2_000
/** To say how it is doing takes a server no more than one part of so many of the time. */
const OVERVIEW_SHARE = 20
/** An answer that takes longer than this is missed. */
const LATE_MS = 1_000
const TIMELINE_MS = 3_000
/** What was said is shown so long. */
const NOTICE_MS = 8_000

/** Why it has ended. */
export type WatchEnd = 'quit' | 'interrupt' | 'stopped'

/** A screen that shows how everything stands and goes on by itself, until somebody quits or the signal comes. */
export class WatchScreen {
  readonly #baton: Baton
  readonly #options: WatchOptions
  readonly #context: CliContext
  readonly #resources = new WatchedResources()
  readonly #reader: ResourceReader
  readonly #terminal: Terminal
  readonly #ended = new AbortController()
  #end: WatchEnd = 'stopped'
  #ui: Ui
  #screen: Screen | undefined
  #overview: Overview | undefined
  #timeline: { readonly of: string; readonly timeline: Timeline } | undefined
  /** By the clock of the store, less this machine's monotonic one. */
  #aheadMs: number | undefined
  #heardAtMs = performance.now()
  /** Until then something should have been heard. */
  #expectedAtMs = Infinity
  #away: string | undefined
  #notice: { readonly text: string; readonly atMs: number } | undefined
  #drawing: NodeJS.Timeout | undefined

  constructor(baton: Baton, options: WatchOptions, context: CliContext) {
    this.#baton = baton
    this.#options = options
    this.#context = context
    const { resource } = options
    const opened = resource === undefined ? undefined : nameOf(this.#addressOf(resource))
    this.#ui = opened === undefined ? beginning : { ...beginning, screen: 'resource', opened, isAlone: true }
    this.#terminal = new Terminal({
      input: context.stdin,
      output: context.stdout,
      onKey: (key) => this.#onKey(key),
      onResize: () => this.#draw(),
    })
    this.#reader = new ResourceReader({
      source: {
        events: (signal) => baton.events({ namespace: options.namespace, resource, signal }),
        list: () => this.#list(),
        one: ({ namespace, resource }) => baton.status(resource, { namespace }),
      },
      resources: this.#resources,
      isWatched: (status) => this.#isWatched(status),
      visible: () => this.#screen?.visible ?? [],
      pacing: {
        nowMs: () => performance.now(),
        pause: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
      },
      onRead: (status) => this.#onRead(status),
      onAway: (error) => this.#onAway(error),
    })
  }

  /** What the SDK says meanwhile has no other place to go. */
  notice(text: string): void {
    this.#notice = { text, atMs: performance.now() }
    this.#soon()
  }

  async run(signal: AbortSignal): Promise<WatchEnd> {
    const stop = AbortSignal.any([signal, this.#ended.signal])
    // Before anything is shown: where nobody answers, that is said as everywhere else.
    const overview = await Promise.race([this.#baton.overview({ namespace: this.#options.namespace }), aborted(stop)])
    if (!overview) return this.#end
    this.#hear(overview)
    this.#terminal.open()
    const ticks = setInterval(() => this.#draw(), TICK_MS)
    try {
      this.#draw()
      await Promise.all([this.#reader.run(stop), this.#readOverview(stop), this.#readTimeline(stop)])
      return this.#end
    } finally {
      this.#ended.abort()
      clearInterval(ticks)
      clearTimeout(this.#drawing)
      this.#terminal.close()
    }
  }

  async *#list(): AsyncGenerator<ResourceStatus> {
    const { namespace, resource } = this.#options
    if (resource !== undefined) yield await this.#baton.status(resource, { namespace })
    else yield* this.#baton.list({ namespace, ...(!this.#ui.showsQuiet && { active: true }) })
  }

  #isWatched({ grants, waiting, pauses, references, kept }: ResourceStatus): boolean {
    const isLive = grants.length + waiting + pauses.length > 0
    if (this.#options.resource !== undefined) return true
    return isLive || (this.#ui.showsQuiet && references.length + kept.length > 0)
  }

  #addressOf(resource: string): Address {
    return { namespace: this.#options.namespace ?? 'default', resource }
  }

  async #readOverview(signal: AbortSignal): Promise<void> {
    const { namespace } = this.#options
    while (!signal.aborted) {
      const beganAtMs = performance.now()
      const overview = await this.#baton.overview({ namespace }).catch((error) => this.#onAway(error))
      if (overview) this.#hear(overview)
      const tookMs = overview ? performance.now() - beganAtMs : 0
      const pauseMs = Math.max(OVERVIEW_MS, OVERVIEW_SHARE * tookMs)
      this.#expectedAtMs = performance.now() + pauseMs
      await pauseFor(pauseMs, signal)
    }
  }

  /** Of the one that is open, whenever that has changed, and now and then. */
  async #readTimeline(signal: AbortSignal): Promise<void> {
    let readAtMs = 0
    while (!signal.aborted) {
      await pauseFor(DRAW_MS, signal)
      const { opened } = this.#ui
      if (opened === undefined) continue
      const changedAtMs = this.#resources.get(opened)?.changedAtMs ?? 0
      const isOld =
        this.#timeline?.of !== opened || changedAtMs > readAtMs || performance.now() > readAtMs + TIMELINE_MS
      if (!isOld) continue
      readAtMs = performance.now()
      const [namespace = '', resource = ''] = opened.split('\n')
      const timeline = await this.#baton.timeline(resource, { namespace }).catch((error) => this.#onAway(error))
      if (timeline) this.#timeline = { of: opened, timeline }
      this.#soon()
    }
  }

  #hear(overview: Overview): void {
    this.#overview = overview
    this.#heard(overview.nowMs)
  }

  #heard(nowMs: number): void {
    this.#aheadMs = nowMs - performance.now()
    this.#heardAtMs = performance.now()
    this.#away = undefined
    this.#soon()
  }

  #onRead(status: ResourceStatus | undefined): void {
    if (status) this.#heard(status.nowMs)
    else this.#soon()
  }

  /** What was refused will be refused again. */
  #onAway(error: Error): undefined {
    if (error instanceof RefusedError && !this.#ended.signal.aborted) throw error
    this.#away = error.message
    this.#soon()
  }

  #onKey(key: Key): void {
    const shown = this.#screen ?? { names: [], page: 1 }
    const before = this.#ui
    const next = press(before, key, shown)
    if (next === 'suspend') this.#terminal.suspend()
    else if (next === 'redraw') this.#terminal.forget()
    else if (typeof next === 'string') this.#leave(next)
    else {
      this.#ui = next
      if (next.showsQuiet !== before.showsQuiet) this.#reader.listAgain()
    }
    this.#draw()
  }

  #leave(end: WatchEnd): void {
    this.#end = end
    this.#ended.abort()
  }

  #soon(): void {
    this.#drawing ??= setTimeout(() => this.#draw(), DRAW_MS)
  }

  #draw(): void {
    clearTimeout(this.#drawing)
    this.#drawing = undefined
    if (this.#ended.signal.aborted) return
    const { columns, rows } = this.#terminal
    const paint = paintFor(this.#context.stdout, this.#context.env)
    this.#screen = drawScreen(this.#picture(), this.#ui, { columns, rows }, paint)
    this.#ui = this.#screen.ui
    this.#terminal.draw(this.#screen.lines)
  }

  #picture(): Picture {
    const { place, namespace } = this.#options
    const monoMs = performance.now()
    const { opened } = this.#ui
    const notice = this.#notice && monoMs - this.#notice.atMs < NOTICE_MS ? this.#notice.text : undefined
    const isLate = this.#away !== undefined || Math.max(this.#heardAtMs, this.#expectedAtMs) < monoMs - LATE_MS
    const why = this.#away ?? notice ?? 'nothing comes from it'
    return {
      server: {
        place,
        namespace,
        overview: this.#overview,
        away: isLate ? { forMs: monoMs - this.#heardAtMs, why } : undefined,
        notice,
      },
      resources: this.#resources.inOrder(),
      opened: opened === undefined ? undefined : this.#resources.get(opened),
      timeline: this.#timeline !== undefined && this.#timeline.of === opened ? this.#timeline.timeline : undefined,
      isRead: this.#reader.isRead,
      nowMs: monoMs + (this.#aheadMs ?? 0),
      monoMs,
    }
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
