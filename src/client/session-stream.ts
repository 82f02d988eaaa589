import type { Standing } from '../core/index.ts'
import type { WireEvent } from '../protocol/index.ts'
import { Backoff } from './backoff.ts'
import { Bag } from './bag.ts'
import type { Contact, Environment } from './contact.ts'
import { isSamePlace, type Place, placeName } from './place.ts'
import type { Session } from './session.ts'
import type { StreamEnd, Transport } from './transport.ts'
import { wholeStates } from './whole-states.ts'

/** Events that name an owner. */
export type OwnEvent = Extract<WireEvent, { owner: string }>

export interface StreamListener {
  /** The ask or the grant that it listens for. */
  readonly place: Place
  onEvent(event: OwnEvent): void
  /** Where it stood when the stream with this number was opened; nothing where it did not stand anywhere. */
  onState(standing: Standing | undefined, opening: number): void
  /** The stream cannot be had at present: asking is the only way to know. */
  onSilence(): void
  /** From then on it lasts, and wants to be told so; never where it does not. */
  readonly lastingFromMs: number
  onLasting(): void
}

/** How long a stream that nobody needs stays open, so that asks in quick succession share it. */
const LINGER_MS = 500
const REOPEN_MAX_MS = 3_000
/** The stream tells of a grant that an operator revokes. Work that is done sooner than this does without one. */
const LASTING_MS = 1_000

/**
 * The one stream of a client, of the events of its session. It is open while somebody needs it, opened again when it
 * ends, and every opening tells all listeners where they stand, so that nothing falls in between.
 */
export class SessionStream {
  readonly #transport: Transport
  readonly #contact: Contact
  readonly #environment: Environment
  readonly #backoff: Backoff
  readonly #listeners = new Bag<StreamListener>()
  /** By owner, the listener's number in the bag, or those of several. */
  readonly #byOwner = new Map<string, number | readonly number[]>()
  #isWatching = false
  #session: Session | undefined
  #needs = 0
  #openings = 0
  /** The present stream has told the state that every stream begins with. */
  #hasState = false
  #close: (() => void) | undefined
  #cancelReopening: (() => void) | undefined
  #cancelLingering = () => {}

  constructor(transport: Transport, contact: Contact, environment: Environment) {
    this.#transport = transport
    this.#contact = contact
    this.#environment = environment
    this.#backoff = new Backoff(environment.random, REOPEN_MAX_MS)
  }

  /** How often a stream has been opened: what is known before an opening must show in its state. */
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

  /** Returns from when on a listener of now lasts: it is told then, if it is still registered. One timer does for all. */
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

  /** Everything that this client asks for or holds. */
  placeNames(): ReadonlySet<string> {
    return new Set(this.#all().map(({ place }) => placeName(place)))
  }

  /** Keeps the stream of this session open until it is let go. */
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
    this.#close?.()
    this.#close = undefined
    this.#session = undefined
    this.#backoff.reset()
  }

  #open(): void {
    const session = this.#session
    if (!session?.isAlive()) return
    const opening = ++this.#openings
    let open = true
    this.#hasState = false
    const stream = this.#transport.listen(
      { of: 'session', session: session.id },
      wholeStates({
        onEvent: (event) => {
          if (open) this.#onEvent(event, opening)
        },
        onEnd: (end) => {
          if (open) this.#onEnd(end)
          open = false
        },
      }),
    )
    this.#close = () => {
      open = false
      stream.close()
    }
  }

  #onEvent(event: WireEvent, opening: number): void {
    this.#contact.heard()
    if (event.type === 'state') this.#onState(event, opening)
    else if ('owner' in event) {
      const found = this.#byOwner.get(event.owner)
      const listeners =
        typeof found === 'object' ? found.map((at) => this.#listeners.at(at)) : [this.#listeners.at(found ?? -1)]
      for (const listener of listeners) if (listener && isSamePlace(listener.place, event)) listener.onEvent(event)
    }
  }

  #onState(state: Extract<WireEvent, { type: 'state' }>, opening: number): void {
    if (state.of !== 'session') return
    this.#hasState = true
    this.#backoff.reset()
    if (!state.alive) {
      this.#session?.lose('the session has ended')
      return
    }
    const standings = new Map(state.places.map((place) => [placeName(place), place.standing]))
    for (const listener of this.#all()) listener.onState(standings.get(placeName(listener.place)), opening)
  }

  #onEnd({ reason, isMove, isAnnounced }: StreamEnd): void {
    this.#close = undefined
    if (this.#needs === 0) return
    if (isMove) {
      this.#open()
      return
    }
    if (this.#backoff.tries === 0 && !isAnnounced)
      this.#environment.notice(`the event stream ended (${reason}); opening it again`)
    // A stream that did not even tell the state is no stream: meanwhile those who wait must ask.
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
