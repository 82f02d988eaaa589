import { Deadlines, type PlaceChanges, type SessionLease, type SessionPlace } from '@baton-lock/core'
import { type Place, SESSION_LOST, type SessionReply, type SessionRequest } from '../store.ts'
import { type Held, type PlaceAt, placesAt, SessionPlaces } from './session-places.ts'
import type { Slot } from './slot.ts'

/** How the places of an ended session end: its client left them, or they are lost with it. */
export type SessionEnd = 'leave' | 'session-lost'

/** Sessions in memory: until when each is alive, and its places. */
export class ResidentSessions {
  readonly #sessions = new Map<string, Session>()
  /** Those that have ended, until all of their places are removed. */
  readonly #ending = new Map<string, Ending>()
  /** How many have ended so far. */
  #ends = 0
  /** Of several that end at once, the first opened ends first. */
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

  countOfPrefix(prefix: string): number {
    let count = 0
    for (const [node, sessions] of this.#byNode) if (node.startsWith(prefix)) count += sessions
    return count
  }

  /** `undefined` if it is not alive. */
  leaseOf(id: string): SessionLease | undefined {
    const session = this.#sessions.get(id)
    return session && { expiresAtMs: this.#deadlines.atMs(session)!, ttlMs: session.ttlMs }
  }

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

  /** Those that are alive, in the order in which they were opened. */
  all(): readonly SessionRequest[] {
    return [...this.#sessions.values()]
  }

  places(id: string, limit?: number): readonly Place[] | undefined {
    const session = this.#sessions.get(id)
    return session?.places.all(limit)
  }

  /** Ends a session. Its places are `ending` until each was `ended`. */
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

  /** It has ended, and has places that have not. */
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

  /** Those on this resource. They are searched once after every end of a session. */
  endingAt(slot: Slot): readonly EndingPlace[] {
    if (slot.ends === this.#ends) return []
    slot.ends = this.#ends
    return placesAt(slot).flatMap((place) => {
      const ending = this.#ending.get(place.session)
      return ending ? { ...place, how: ending.how } : []
    })
  }

  /** A step has removed this place, or did not find it. */
  ended({ at, ...place }: EndingPlace): void {
    const places = this.#ending.get(place.session)?.places
    places?.delete(at, place)
    if (places?.size === 0) this.#ending.delete(place.session)
  }

  /** A resource that was read has these places. A session that is not known has ended. */
  found(at: Held, places: readonly SessionPlace[]): void {
    for (const { session } of places) {
      if (this.#sessions.has(session) || this.#ending.has(session)) continue
      this.#ending.set(session, { how: 'session-lost', places: new SessionPlaces() })
      this.#ends++
    }
    for (const place of places) this.#placesOf(place)?.add(at, place)
  }

  /** The id of a session that has expired. */
  due(nowMs: number): string | undefined {
    return this.#deadlines.due(nowMs)?.session
  }

  /** A step has changed places of sessions. */
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
