import { type AddressedEvent, type Event, type Facts, type HeardAsker, SHARED_HOLD } from '@baton-lock/core'
import type { StreamedEvent } from '@baton-lock/protocol'
import type { Address, AskAt, Store } from '@baton-lock/store/store'
import type { Log } from '../log.ts'
import { AskerGone, type ReadTurns } from '../requests/reads.ts'
import type { Steps } from '../requests/steps.ts'
import type { Statistics } from '../statistics/statistics.ts'
import type { Timers } from '../timers/timers.ts'
import { CatchUp, type Piecewise, type Sink } from './catch-up.ts'
import { EventBuffer } from './event-buffer.ts'
import { FailureLog } from './failure-log.ts'
import { FanOut, hasHeard, type Listener, type Scope } from './fan-out.ts'
import { PlaceKeeper } from './place-keeper.ts'
import { stateOf } from './state.ts'

interface ListeningOptions {
  readonly steps: Steps
  readonly timers: Timers
  readonly eventLimit: number
  readonly instance: string
  readonly readTurns: ReadTurns
  readonly statistics: Statistics | undefined
  readonly log: Log
  /** Called after each event and after a gap: deadlines may have changed. */
  readonly onNews: () => void
}

export interface ListenOptions extends Pick<Facts, 'actsFor'>, Pick<Listener, 'hears'> {
  /** The last event that the listener has heard. */
  readonly lastId?: string | undefined
  /** False: the listener never resumes by an id; after an interruption it gets the present state. Default: true. */
  readonly isResumable?: boolean | undefined
  /** Called with the change of the bytes that wait for the state to be sent. */
  readonly onWaiting?: ((change: number) => void) | undefined
  /** Whether the listener has gone; then the present state is not read. Default: not known. */
  readonly isGone?: (() => boolean) | undefined
  /** How to send a state that is too large for one event. Default: never split. */
  readonly piecewise?: Piecewise | undefined
}

/** The maximum number of recipients in one `heard` step. */
const HEARD_TOGETHER = 500

/** Delivers the events of a store: first the present state or the missed events, then new ones. */
export class Listening {
  readonly #store: Store
  readonly #steps: Steps
  readonly #fanOut = new FanOut()
  readonly #events: EventBuffer
  readonly #places: PlaceKeeper
  readonly #timers: Timers
  readonly #readTurns: ReadTurns
  readonly #statistics: Statistics | undefined
  readonly #onNews: () => void
  readonly #log: Log
  readonly #failures: FailureLog
  readonly #unsubscribe: () => void
  readonly #lastId = () => this.#events.lastId
  /** There was a listener that may come back and ask for missed events. */
  #hasResumable = false

  constructor(store: Store, options: ListeningOptions) {
    const { steps, timers, eventLimit, instance, onNews, readTurns, statistics, log } = options
    this.#store = store
    this.#steps = steps
    this.#events = new EventBuffer(eventLimit, `${Math.floor(store.nowMs()).toString(36)}${instance}`)
    this.#places = new PlaceKeeper(steps, timers)
    this.#timers = timers
    this.#readTurns = readTurns
    this.#statistics = statistics
    this.#onNews = onNews
    this.#log = log
    this.#failures = new FailureLog(log, timers)
    this.#unsubscribe = store.subscribe(
      (event, elsewhere) => this.#send(event, elsewhere),
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
    // The store delivers events for a session to the process that it was opened or renewed at, and others on request.
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
    const { operation, node, owner, fence } = ask
    await this.#forget(ask, [{ operation, node, owner, fence }], facts)
  }

  stop(): void {
    this.#unsubscribe()
    this.#failures.stop()
    this.#places.stop()
  }

  /** Waits before a piece of a state is read: many listeners may need their state at once, and a state may be large. */
  #pause(isGone: (() => boolean) | undefined): Promise<void> | undefined {
    const goOn = () => {
      if (isGone?.()) throw new AskerGone()
    }
    const turn = this.#readTurns.next()
    if (turn) return turn.then(goOn)
    goOn()
    return undefined
  }

  #send(addressed: AddressedEvent, elsewhere: boolean): void {
    this.#statistics?.see(addressed, elsewhere)
    if (this.#hasResumable) this.#events.add(addressed)
    else this.#events.pass()
    if (this.#log.isDebug && !elsewhere) logEvent(this.#log, addressed.event)
    if (!elsewhere) this.#failures.note(addressed.event)
    const heard = this.#fanOut.send(addressed, this.#lastId)
    if (heard.length > 0) this.#forgetHeard(addressed.event, heard)
    this.#onNews()
  }

  /** Events may have been missed: every listener gets the present state. */
  async #tellAnew(): Promise<void> {
    this.#events.forgetAll()
    this.#statistics?.missed()
    this.#onNews()
    const listeners = this.#fanOut.all()
    this.#log.warn('events may have been missed; listeners are told the present state', { listeners: listeners.length })
    for (const { catchUp } of listeners) catchUp.hold()
    for (const { catchUp } of listeners) await catchUp.tellAnew()
  }

  /** Recipients that share a hold id with others have received their answers: their next request is a new one. */
  #forgetHeard(event: Event, heard: readonly HeardAsker[]): void {
    for (let from = 0; from < heard.length; from += HEARD_TOGETHER)
      void this.#forget(event, heard.slice(from, from + HEARD_TOGETHER), {})
  }

  async #forget({ namespace, resource }: Address, askers: readonly HeardAsker[], facts: Facts): Promise<void> {
    const address = { namespace, resource }
    // If the store is away, the answer is given once more, or is forgotten in time.
    await this.#steps.takeOne({ address, command: { type: 'heard', askers }, facts }).catch(() => {})
  }

  /** The same for a listener whose answer was there before it listened. */
  #forgetTold(listener: Listener, state: StreamedEvent): void {
    const { scope } = listener
    if (scope.of !== 'ask' || scope.hold !== SHARED_HOLD || state.type !== 'state' || state.of !== 'ask') return
    const { standing } = state
    if (standing.status !== 'skip' && standing.status !== 'failed') return
    const { fence } = standing
    if (hasHeard(listener, scope)) void this.heard({ ...scope, fence }, { actsFor: listener.actsFor })
  }
}

/** Logs every grant, hand-over and end. */
function logEvent(log: Log, event: Event): void {
  const { namespace, resource } = event
  if (event.type === 'granted') {
    const { operation, node, owner, fence, attempt, handOver, waitedMs } = event
    const fields = { namespace, resource, operation, node, owner, fence, attempt }
    if (handOver) log.debug('handed over', { ...fields, waitedMs })
    else log.debug('granted', fields)
  } else if (event.type === 'ended') {
    const { operation, node, owner, fence, attempt, outcome, heldMs } = event
    const fields = { namespace, resource, operation, node, owner, fence, attempt, heldMs }
    log.debug('grant ended', { ...fields, outcome: outcome.outcome })
  }
}
