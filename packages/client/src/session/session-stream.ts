import type { Event, KeyActor, Standing } from '@baton-lock/core'
import { type Place, StateParts, type StreamedEvent, type WireEvent } from '@baton-lock/protocol'
import type { StreamEnd, Transport } from '../connection/transport.ts'
import type { Environment } from '../environment.ts'
import { Backoff } from '../requests/backoff.ts'
import type { Sender } from '../requests/sender.ts'
import { List } from './list.ts'
import { isSamePlace, placeName } from './place.ts'
import type { Session } from './session.ts'

export interface StreamListener {
  /** Whose events it gets. */
  readonly place: Place
  onEvent(event: Event): void
  /** Where the place stood when this stream was opened; `undefined` if the session did not have it. */
  onState(standing: Standing | undefined, opening: number): void
  /** There is no stream at present: only a request can tell where the place stands. */
  onSilence(): void
  /** `onLasting` is called at this time, by the monotonic clock; `Infinity` for never. */
  readonly lastingFromMs: number
  onLasting(): void
}

/** How long an unused stream stays open, so that requests in quick succession share it. */
const LINGER_MS = 500
const REOPEN_MAX_MS = 3_000
/** The stream reports grants that an operator revokes. Shorter work does without it. */
export const LASTING_MS = 1_000

/**
 * The stream of a client's session. It is open while it is needed, and opened again when it ends. Every opening tells all listeners
 * where they stand, so that no event is missed in between.
 */
export class SessionStream {
  readonly #transport: Transport
  readonly #sender: Sender
  readonly #environment: Environment
  readonly #backoff: Backoff
  readonly #listeners = new List<StreamListener>()
  /** By owner, the listener's number in the list, or several. */
  readonly #byOwner = new Map<string, number | readonly number[]>()
  #isWatching = false
  #session: Session | undefined
  #needs = 0
  #openings = 0
  /** The number of the stream that is open; 0 if none is. What comes from another one no longer counts. */
  #present = 0
  #parts = new StateParts()
  /** The present stream has delivered the state with which it begins. */
  #hasState = false
  #close: (() => void) | undefined
  #cancelReopening: (() => void) | undefined
  #cancelLingering = () => {}

  constructor(transport: Transport, sender: Sender, environment: Environment) {
    this.#transport = transport
    this.#sender = sender
    this.#environment = environment
    this.#backoff = new Backoff(environment.random, REOPEN_MAX_MS)
  }

  /** The number of streams that were opened so far. The state of a later stream includes everything that is known now. */
  get openings(): number {
    return this.#openings
  }

  register(listener: StreamListener): number {
    const { owner } = listener.place
    const at = this.#listeners.add(listener)
    const others = this.#byOwner.get(owner)
    this.#byOwner.set(owner, others === undefined ? at : [others, at].flat())
    return at
  }

  unregister(listener: StreamListener, at: number): void {
    if (this.#listeners.at(at) !== listener) return
    const { owner } = listener.place
    const all = this.#byOwner.get(owner)
    const others = typeof all === 'object' ? all.filter((each) => each !== at) : []
    if (others.length > 0) this.#byOwner.set(owner, others.length === 1 ? others[0]! : others)
    else this.#byOwner.delete(owner)
    this.#listeners.remove(listener, at)
  }

  /** For `lastingFromMs` of a listener that is registered now. One timer serves all listeners. */
  whenItLasts(): number {
    if (!this.#isWatching) this.#watchLasting(LASTING_MS)
    return this.#environment.clock.monoMs() + LASTING_MS
  }

  #watchLasting(delayMs: number): void {
    this.#isWatching = true
    this.#environment.clock.after(delayMs, () => {
      this.#isWatching = false
      const nowMs = this.#environment.clock.monoMs()
      let nextMs = Infinity
      for (const listener of this.#all()) {
        if (listener.lastingFromMs <= nowMs) listener.onLasting()
        else nextMs = Math.min(nextMs, listener.lastingFromMs)
      }
      if (nextMs < Infinity) this.#watchLasting(nextMs - nowMs)
    })
  }

  /** Everything that this client requests or holds. */
  placeNames(): ReadonlySet<string> {
    return new Set(this.#all().map(({ place }) => placeName(place)))
  }

  /** Keeps the stream of this session open until the returned function is called. */
  keepOpen(session: Session): () => void {
    this.#needs++
    this.#cancelLingering()
    if (session !== this.#session && session.isAlive()) {
      this.close()
      this.#session = session
    }
    if (!this.#close && !this.#cancelReopening) this.#open()
    let needed = true
    return () => {
      if (!needed) return
      needed = false
      if (--this.#needs > 0) return
      this.#cancelLingering = this.#environment.clock.after(LINGER_MS, () => this.close())
    }
  }

  close(): void {
    this.#cancelLingering()
    this.#cancelReopening?.()
    this.#cancelReopening = undefined
    this.#present = 0
    this.#close?.()
    this.#close = undefined
    this.#session = undefined
    this.#backoff.reset()
  }

  #open(): void {
    const session = this.#session
    if (!session?.isAlive()) return
    const opening = ++this.#openings
    this.#present = opening
    this.#parts = new StateParts()
    this.#hasState = false
    const stream = this.#transport.listen(
      { of: 'session', session: session.id },
      { onEvent: (event) => this.#onEvent(event, opening), onEnd: (end) => this.#onEnd(end, opening) },
    )
    this.#close = () => stream.close()
  }

  #onEvent(event: StreamedEvent, opening: number): void {
    if (opening !== this.#present) return
    this.#sender.noteSign()
    switch (event.type) {
      case 'reset':
        this.#parts.clear()
        return
      case 'state-part': {
        const state = this.#parts.add(event)
        if (state) this.#onState(state, opening)
        return
      }
      case 'state':
        this.#onState(event, opening)
        return
      default:
        for (const actor of actorsOf(event))
          for (const listener of this.#listenersAt(actor, event)) listener.onEvent(event)
    }
  }

  #listenersAt({ operation, node, owner }: KeyActor, { namespace, resource }: Event): readonly StreamListener[] {
    const place = { namespace, resource, operation, node, owner }
    const found = this.#byOwner.get(owner) ?? []
    const listeners = (typeof found === 'object' ? found : [found]).map((at) => this.#listeners.at(at))
    return listeners.filter((each) => each !== undefined && isSamePlace(each.place, place)) as StreamListener[]
  }

  #onState(state: Extract<WireEvent, { type: 'state' }>, opening: number): void {
    if (state.of !== 'session') return
    this.#hasState = true
    this.#backoff.reset()
    if (!state.alive) {
      this.#session?.lose({ kind: 'session-ended' })
      return
    }
    const standings = new Map(state.places.map((place) => [placeName(place), place.standing]))
    for (const listener of this.#all()) listener.onState(standings.get(placeName(listener.place)), opening)
  }

  #onEnd({ reason, isMove, isAnnounced }: StreamEnd, opening: number): void {
    if (opening !== this.#present) return
    this.#present = 0
    this.#close = undefined
    if (this.#needs === 0) return
    if (isMove) {
      this.#open()
      return
    }
    if (this.#backoff.tries === 0 && !isAnnounced)
      this.#environment.notice(`the event stream ended (${reason}); opening it again`)
    // Twice in a row there was not even a state: meanwhile, requests must find out.
    if (!this.#hasState && this.#backoff.tries > 0) for (const listener of this.#all()) listener.onSilence()
    this.#cancelReopening = this.#environment.clock.after(this.#backoff.nextMs(), () => {
      this.#cancelReopening = undefined
      this.#open()
    })
  }

  #all(): StreamListener[] {
    return [...this.#listeners]
  }
}

/** Which places of a session an event is about: what those who wait are told names them, any other event its own actor. */
function actorsOf(event: Event): readonly KeyActor[] {
  if (event.type === 'told' || event.type === 'progress') return event.askers ?? []
  return 'owner' in event ? [event] : []
}
