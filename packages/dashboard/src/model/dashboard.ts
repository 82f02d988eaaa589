import type { Policy } from '@baton-lock/core'
import { policyOf, rowOf } from '@baton-lock/core/policy'
import type { GatheredEvent, Overview, Who } from '@baton-lock/protocol'
import { signal } from '@preact/signals'
import { type Deed, Deeds } from './actions.ts'
import { Feed } from './feed.ts'
import { Listing } from './list/listing.ts'
import { Rows } from './list/rows.ts'
import { NOTHING_SELECTED, type Selection, select } from './list/selection.ts'
import { nameOf } from './name.ts'
import { Refresher } from './refresher.ts'
import { Detail } from './resource/detail.ts'
import { type PageRoute, routeFrom } from './route.ts'
import { ServerClock } from './server-clock.ts'
import { Disconnected, Stream, type StreamOptions } from './stream.ts'
import type { PageTimers } from './timers.ts'

interface DashboardOptions extends Pick<StreamOptions, 'dial' | 'who'> {
  readonly timers: PageTimers
}

const BEAT_MS = 500
/** While nobody looks. */
const HIDDEN_BEAT_MS = 10_000
const BEATS_AN_OVERVIEW = 4
/** The whole list is not read again sooner than this. */
const RELIST_MS = 30_000
const POINTING_MS = 2_000
/** Ten thousand rows are not put in order more often, unless somebody wants it. */
const SELECT_MS = 900

/** All that the page knows and does, without a page: what is on screen follows from its signals. */
export class Dashboard {
  readonly clock: ServerClock
  readonly rows = new Rows()
  readonly feed = new Feed()
  readonly overview = signal<Overview | undefined>(undefined)
  /** Why the server, which answers, cannot say how it is doing: its store is away, for instance. */
  readonly trouble = signal<string | undefined>(undefined)
  readonly route = signal<PageRoute>(routeFrom(''))
  readonly selection = signal<Selection>(NOTHING_SELECTED)
  /** The time of the server by which everything on screen is shown: it moves for all of it together. */
  readonly shownMs = signal(0)
  /** When somebody last moved over the rows: nothing may move under the pointer. */
  #pointedAtMs = -Infinity
  readonly stream: Stream
  readonly listing: Listing
  readonly refresher: Refresher
  readonly detail: Detail
  readonly #timers: PageTimers
  readonly #policy = signal<Policy | undefined>(undefined)
  #isVisible = true
  #beats = 0
  #cancelBeat = () => {}
  #listedAtMs = 0
  #selectedVersion = -1
  #selectedAtMs = -Infinity

  constructor({ timers, dial, who }: DashboardOptions) {
    this.#timers = timers
    this.clock = new ServerClock(() => timers.monoMs())
    this.stream = new Stream({
      timers,
      dial,
      who,
      onLive: () => this.#onLive(),
      onGathered: (event) => this.#onGathered(event),
      onGap: () => void this.#list(),
    })
    const { rows, clock, stream } = this
    this.listing = new Listing({ rows, clock, timers, request: (input) => stream.request(input) })
    this.refresher = new Refresher({ rows, clock, timers, request: (input) => stream.request(input) })
    this.detail = new Detail(stream, clock)
  }

  start(): void {
    this.#cancelBeat()
    this.#beat()
    void this.stream.connect()
  }

  /** Ends all that goes on. */
  stop(): void {
    this.#cancelBeat()
    this.listing.stop()
    this.stream.signOut()
  }

  /** Somebody looks at the page, or does not any more. */
  set isVisible(isVisible: boolean) {
    this.#isVisible = isVisible
    if (!isVisible) return
    if (this.stream.contact.value.state === 'lost') void this.stream.connect()
    this.#cancelBeat()
    this.#beat()
  }

  go(route: PageRoute): void {
    const before = this.route.value
    this.route.value = route
    this.detail.show(route.page === 'resource' ? route : undefined)
    if (route.page !== 'list') return
    this.select()
    if (before.page !== 'list' || JSON.stringify(before.filter) !== JSON.stringify(route.filter)) this.#searchBeyond()
  }

  get who(): Who | undefined {
    const contact = this.stream.contact.value
    return contact.state === 'live' ? contact.who : undefined
  }

  /** What those who wait for an operation do when it succeeds; nothing where the policy is not known. */
  onSuccess(namespace: string, operation: string): 'skip' | 'next' | undefined {
    const policy = this.#policy.value
    return policy && rowOf(policyOf(policy, namespace), { operation })?.waitersOnSuccess
  }

  /** Whether deeds of operators may be asked for. */
  get mayAct(): boolean {
    return this.who?.role === 'admin' || this.who?.role === 'anybody'
  }

  deeds(deeds: readonly Deed[]): Deeds {
    return new Deeds(deeds, async (input) => {
      const reply = await this.stream.request(input)
      if ('resource' in input) this.refresher.changed(nameOf({ namespace: 'default', ...input }))
      this.detail.touch()
      return reply
    })
  }

  /** Puts the list in order, as the filter wants it. */
  select(): void {
    const { route, rows, clock } = this
    if (route.value.page !== 'list') return
    const { filter, order } = route.value
    this.selection.value = select(rows.all.value, { filter, order, nowMs: clock.nowMs() })
    this.#selectedVersion = rows.version.value
    this.#selectedAtMs = this.#timers.monoMs()
  }

  /** The pointer moves over the rows: they stay where they are for a moment. */
  pointed(): void {
    this.#pointedAtMs = this.#timers.monoMs()
  }

  forgetAll(): void {
    this.listing.stop()
    this.refresher.clear()
    this.rows.clear()
    this.feed.clear()
    this.overview.value = undefined
    this.selection.value = NOTHING_SELECTED
  }

  #onLive(): void {
    this.detail.touch()
    void this.detail.beat()
    void this.#readOverview()
    void this.#readPolicy()
    void this.#list()
  }

  async #list(): Promise<void> {
    this.#listedAtMs = this.#timers.monoMs()
    this.refresher.clear()
    const { namespace } = this.who ?? {}
    await this.listing.read({ ...(namespace !== undefined && { namespace }) })
    this.shownMs.value = this.clock.nowMs()
    this.select()
  }

  /** Of a store that is too large to be read whole, what is searched is asked for. */
  #searchBeyond(): void {
    if (this.listing.loading.value.state !== 'some' || this.route.value.page !== 'list') return
    const { text, namespace, node } = this.route.value.filter
    const prefix = text.trim()
    if (prefix + namespace + node === '') return
    void this.listing
      .search({
        ...(prefix !== '' && { prefix }),
        ...(node !== '' && { node }),
        ...(namespace !== '' && { namespace }),
        ...(this.who?.namespace !== undefined && { namespace: this.who.namespace }),
      })
      .then(() => this.select())
  }

  #onGathered(event: GatheredEvent): void {
    this.feed.add(event)
    for (const [namespace, resource] of event.changed) {
      const name = nameOf({ namespace, resource })
      this.refresher.changed(name)
      this.detail.changed(name)
    }
    if (event.more) this.refresher.hasLostTrack = true
    // What is on screen follows at once where little happens.
    if (event.omitted === 0 && this.#isVisible) void this.#refresh()
  }

  async #refresh(): Promise<void> {
    const { version } = this.rows
    const before = [version.value, this.detail.view.value]
    await Promise.all([this.refresher.beat(), this.detail.beat()])
    if (version.value !== before[0] || this.detail.view.value !== before[1]) this.shownMs.value = this.clock.nowMs()
    const nowMs = this.#timers.monoMs()
    const mayMove = nowMs - this.#pointedAtMs >= POINTING_MS && nowMs - this.#selectedAtMs >= SELECT_MS
    if (mayMove && this.#selectedVersion !== this.rows.version.value) this.select()
  }

  #beat(): void {
    this.#cancelBeat = this.#timers.after(this.#isVisible ? BEAT_MS : HIDDEN_BEAT_MS, () => this.#beat())
    this.#beats++
    if (this.#beats % 2 === 0 || !this.#isVisible) this.shownMs.value = this.clock.nowMs()
    if (this.stream.contact.value.state !== 'live') return
    void this.#refresh()
    if (this.#beats % BEATS_AN_OVERVIEW === 0 || !this.#isVisible) void this.#readOverview()
    const isDue = this.#timers.monoMs() - this.#listedAtMs > RELIST_MS
    if (this.refresher.hasLostTrack && isDue && this.listing.loading.value.state !== 'reading') void this.#list()
  }

  async #readPolicy(): Promise<void> {
    const reply = await this.stream.request({ type: 'get-policy' }).catch(() => undefined)
    if (reply?.status === 'policy') this.#policy.value = reply.policy
  }

  async #readOverview(): Promise<void> {
    const { namespace } = this.who ?? {}
    try {
      const reply = await this.stream.request({ type: 'get-overview', ...(namespace !== undefined && { namespace }) })
      this.trouble.value = reply.status === 'refused' ? reply.message : undefined
      if (reply.status !== 'overview') return
      this.clock.set(reply.nowMs)
      this.overview.value = reply
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
    }
  }
}
