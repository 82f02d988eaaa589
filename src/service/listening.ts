import { type Facts, type HeardAsker, SHARED_HOLD } from '../core/index.ts'
import type { StreamedEvent } from '../protocol/index.ts'
import type { AskAt, Store, StoreEvent } from '../stores/store.ts'
import { CatchUp, type Piecewise, type Sink } from './catch-up.ts'
import { EventBuffer } from './event-buffer.ts'
import { logEvent } from './event-log.ts'
import { FanOut, hasHeard, type Listener, type Scope } from './fan-out.ts'
import type { Log } from './log.ts'
import { PlaceKeeper } from './place-keeper.ts'
import { AskerGone } from './read-budget.ts'
import type { ReadTurns } from './read-turns.ts'
import { stateOf } from './state.ts'
import type { Statistics } from './statistics/statistics.ts'
import type { Timers } from './timers.ts'

interface ListeningOptions {
  readonly timers: Timers
  readonly eventLimit: number
  readonly instance: string
  readonly readTurns: ReadTurns
  readonly statistics: Statistics | undefined
  readonly log: Log
  /** Called after each event, and where some may have been missed: what is due may have changed. */
  readonly onNews: () => void
}

export interface ListenOptions extends Pick<Facts, 'actsFor'>, Pick<Listener, 'hears'> {
  /** The last event that was heard before. */
  readonly lastId?: string | undefined
  /** False: it never comes back with an id; after an interruption it is told the present state. Default: true. */
  readonly isResumable?: boolean | undefined
  /** Called with how many bytes more, or less, wait until it is told where things stand. */
  readonly onWaiting?: ((change: number) => void) | undefined
  /** Whether nobody listens any more: then the present state is not read. Default: it is not known. */
  readonly isGone?: (() => boolean) | undefined
  /** A state that is too large comes in parts. Default: it never does. */
  readonly piecewise?: Piecewise | undefined
}

/** So many are named in one step. */
const HEARD_TOGETHER = 500

/** The events of a store, to those who listen: first where things stand or what was missed, then what happens. */
export class Listening {
  readonly #store: Store
  readonly #fanOut = new FanOut()
  readonly #events: EventBuffer
  readonly #places: PlaceKeeper
  readonly #timers: Timers
  readonly #readTurns: ReadTurns
  readonly #statistics: Statistics | undefined
  readonly #onNews: () => void
  readonly #log: Log
  readonly #unsubscribe: () => void
  readonly #lastId = () => this.#events.lastId
  /** Somebody has listened who may come back and ask for what it has missed. */
  #hasResumable = false

  constructor(store: Store, options: ListeningOptions) {
    const { timers, eventLimit, instance, onNews, readTurns, statistics, log } = options
    this.#store = store
    this.#events = new EventBuffer(eventLimit, `${Math.floor(store.nowMs()).toString(36)}${instance}`)
    this.#places = new PlaceKeeper(store, timers)
    this.#timers = timers
    this.#readTurns = readTurns
    this.#statistics = statistics
    this.#onNews = onNews
    this.#log = log
    this.#unsubscribe = store.subscribe(
      (event) => this.#send(event),
      () => void this.#tellAnew(),
      onNews,
    )
  }

  async listen(
    scope: Scope,
    sink: Sink,
    { lastId, isResumable = true, onWaiting, isGone, piecewise, ...options }: ListenOptions,
  ): Promise<() => void> {
    if (isResumable) this.#hasResumable = true
    // What concerns a session comes to where it was opened or renewed; for all else one has to ask.
    if (scope.of !== 'session') await this.#store.hearAll()
    const missed = lastId === undefined ? undefined : this.#events.since(lastId, scope)
    const catchUp = new CatchUp({
      sink,
      readState: () => stateOf(this.#store, scope, { partBytes: piecewise?.bytes, pause: () => this.#pause(isGone) }),
      piecewise,
      lastId: this.#lastId,
      isBack: lastId !== undefined,
      timers: this.#timers,
      onWaiting,
    })
    const listener: Listener = { ...options, scope, sink: catchUp.hear, catchUp }
    const remove = this.#fanOut.add(listener)
    const release = scope.of === 'ask' ? this.#places.keep(scope, options) : undefined
    const stop = () => {
      remove()
      catchUp.stop()
      release?.()
    }
    if (missed) catchUp.tell(missed)
    else {
      const state = await catchUp.tellState().catch((error) => {
        stop()
        throw error
      })
      if (state) this.#forgetTold(listener, state)
    }
    return stop
  }

  async heard(ask: AskAt & { readonly fence: number }, facts: Facts): Promise<void> {
    const { namespace, resource, operation, node, owner, fence } = ask
    const askers = [{ operation, node, owner, fence }]
    // Where the store is away the answer is given once more, or is forgotten in time.
    await this.#store.step({ namespace, resource }, { type: 'heard', askers }, facts).catch(() => {})
  }

  stop(): void {
    this.#unsubscribe()
    this.#places.stop()
  }

  /** Before a piece of a state is read: there may be very many at once, and a state may be long. */
  #pause(isGone: (() => boolean) | undefined): Promise<void> | undefined {
    const goOn = () => {
      if (isGone?.()) throw new AskerGone()
    }
    const turn = this.#readTurns.next()
    if (turn) return turn.then(goOn)
    goOn()
    return undefined
  }

  #send(event: StoreEvent): void {
    this.#statistics?.see(event)
    // How far something is says the next report better: who was away is not told of the past ones.
    if (event.type !== 'progress-told') {
      if (this.#hasResumable) this.#events.add(event)
      else this.#events.pass()
    }
    if (this.#log.isDebug) logEvent(this.#log, event)
    const heard = this.#fanOut.send(event, this.#lastId)
    if (heard.length > 0) this.#forgetHeard(event, heard)
    this.#onNews()
  }

  /** Events may have been missed: everybody is told where things stand. */
  async #tellAnew(): Promise<void> {
    this.#events.forgetAll()
    this.#statistics?.missed()
    this.#onNews()
    const listeners = this.#fanOut.all()
    this.#log.warn('events may have been missed; listeners are told the present state', { listeners: listeners.length })
    for (const { catchUp } of listeners) catchUp.hold()
    for (const { catchUp } of listeners) await catchUp.tellAnew()
  }

  /** Whoever shares its hold id with others, and has heard its answer, asks next for something new. */
  #forgetHeard({ namespace, resource }: StoreEvent, heard: readonly HeardAsker[]): void {
    for (let from = 0; from < heard.length; from += HEARD_TOGETHER) {
      const askers = heard.slice(from, from + HEARD_TOGETHER)
      this.#store.step({ namespace, resource }, { type: 'heard', askers }).catch(() => {})
    }
  }

  /** The same for one whose answer was there before it listened. */
  #forgetTold(listener: Listener, state: StreamedEvent): void {
    const { scope } = listener
    if (scope.of !== 'ask' || scope.hold !== SHARED_HOLD || state.type !== 'state' || state.of !== 'ask') return
    const { standing } = state
    if (standing.status !== 'skip' && standing.status !== 'failed') return
    const { fence } = standing
    if (hasHeard(listener, scope)) void this.heard({ ...scope, fence }, { actsFor: listener.actsFor })
  }
}
