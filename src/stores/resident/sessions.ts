import { Deadlines, type PlaceChanges, type SessionLease, type SessionPlace } from '../../core/index.ts'
import { type Place, SESSION_LOST, type SessionReply, type SessionRequest } from '../store.ts'
import { type Held, type PlaceAt, placesAt, SessionPlaces } from './session-places.ts'
import type { Slot } from './slot.ts'

/** What a session that has ended does to its places: they were left, or lost with it. */
export type SessionEnd = 'leave' | 'session-lost'

/** Sessions in memory: who is alive until when, and which places hang off each. */
export class ResidentSessions {
  readonly #sessions = new Map<string, Session>()
  /** Those that have ended, until each of their places has been told so. */
  readonly #ending = new Map<string, Ending>()
  /** How many have ended so far. */
  #ends = 0
  /** Those opened first end first where several end at once. */
  readonly #deadlines = new Deadlines<Session>({ rank: ({ opened }) => opened })
  #opened = 0
  readonly #byNode = new Map<string, number>()

  get size(): number {
    return this.#sessions.size
  }

  nextDeadlineMs(): number | undefined {
    return this.#deadlines.nextMs()
  }

  countOf(node: string): number {
    return this.#byNode.get(node) ?? 0
  }

  /** Until when it is alive; nothing where it is not. */
  leaseOf(id: string): SessionLease | undefined {
    const session = this.#sessions.get(id)
    return session && { expiresAtMs: this.#deadlines.atMs(session)!, ttlMs: session.ttlMs }
  }

  /** The same of several. */
  leasesOf(ids: readonly string[]): ReadonlyMap<string, SessionLease> {
    const leases = new Map<string, SessionLease>()
    for (const id of ids) {
      const lease = this.leaseOf(id)
      if (lease) leases.set(id, lease)
    }
    return leases
  }

  isAlive(session: string): boolean {
    return this.#sessions.has(session)
  }

  open({ session: id, node, ttlMs }: SessionRequest, nowMs: number): SessionReply {
    if (!this.#sessions.has(id)) {
      const places = this.#ending.get(id)?.places ?? new SessionPlaces()
      this.#ending.delete(id)
      this.#sessions.set(id, { session: id, node, ttlMs, opened: ++this.#opened, places })
      this.#byNode.set(node, this.countOf(node) + 1)
    }
    return this.renew(id, nowMs)
  }

  renew(id: string, nowMs: number): SessionReply {
    const session = this.#sessions.get(id)
    if (!session) return SESSION_LOST
    this.#deadlines.set(session, nowMs + session.ttlMs)
    return { status: 'alive', ttlMs: session.ttlMs, places: session.places.size }
  }

  renewAll(nowMs: number): void {
    for (const id of this.#sessions.keys()) this.renew(id, nowMs)
  }

  /** Who is alive, as they were opened. */
  all(): readonly SessionRequest[] {
    return [...this.#sessions.values()]
  }

  places(id: string): readonly Place[] | undefined {
    const session = this.#sessions.get(id)
    return session?.places.all()
  }

  /** It is not alive from now on. Its places are those of one that is `ending` until each has been `ended`. */
  end(id: string, how: SessionEnd): void {
    const session = this.#sessions.get(id)
    if (!session) return
    this.#sessions.delete(id)
    const others = this.countOf(session.node) - 1
    if (others > 0) this.#byNode.set(session.node, others)
    else this.#byNode.delete(session.node)
    this.#deadlines.set(session, undefined)
    this.#ending.set(id, { how, places: session.places })
    this.#ends++
  }

  get isEnding(): boolean {
    return this.#ending.size > 0
  }

  /** It has ended, and not all of its places have. */
  isEndingNow(id: string): boolean {
    return (this.#ending.get(id)?.places.size ?? 0) > 0
  }

  /** Some places of sessions that have ended. */
  ending(limit: number): readonly EndingPlace[] {
    const some: EndingPlace[] = []
    for (const [id, { how, places }] of this.#ending) {
      if (places.size === 0) this.#ending.delete(id)
      for (const place of places.some(limit - some.length)) some.push({ ...place, how })
      if (some.length >= limit) break
    }
    return some
  }

  /** Those on this resource. They are looked for once after every end. */
  endingAt(slot: Slot): readonly EndingPlace[] {
    if (slot.ends === this.#ends) return []
    slot.ends = this.#ends
    return placesAt(slot).flatMap((place) => {
      const ending = this.#ending.get(place.session)
      return ending ? { ...place, how: ending.how } : []
    })
  }

  /** This place is gone, whatever the step has found there. */
  ended({ at, ...place }: EndingPlace): void {
    const places = this.#ending.get(place.session)?.places
    places?.delete(at, place)
    if (places?.size === 0) this.#ending.delete(place.session)
  }

  /** These hang off sessions, as was read from elsewhere. A session that is not there has ended. */
  found(at: Held, places: readonly SessionPlace[]): void {
    for (const { session } of places) {
      if (this.#sessions.has(session) || this.#ending.has(session)) continue
      this.#ending.set(session, { how: 'session-lost', places: new SessionPlaces() })
      this.#ends++
    }
    for (const place of places) this.#placesOf(place)?.add(at, place)
  }

  /** The id of a session whose ttl has run out. */
  due(nowMs: number): string | undefined {
    return this.#deadlines.due(nowMs)?.session
  }

  /** A step has changed what hangs off sessions. */
  follow(at: Held, { gained, lost }: PlaceChanges): void {
    for (const place of lost) this.#placesOf(place)?.delete(at, place)
    for (const place of gained) this.#placesOf(place)?.add(at, place)
  }

  #placesOf({ session }: SessionPlace): SessionPlaces | undefined {
    return (this.#sessions.get(session) ?? this.#ending.get(session))?.places
  }
}

interface Ending {
  readonly how: SessionEnd
  readonly places: SessionPlaces
}

/** A place of a session that has ended. */
export interface EndingPlace extends PlaceAt {
  readonly how: SessionEnd
}

interface Session extends SessionRequest {
  readonly opened: number
  readonly places: SessionPlaces
}
