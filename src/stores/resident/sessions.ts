import { Deadlines, type PlaceChanges } from '../../core/index.ts'
import { type Place, SESSION_LOST, type SessionReply, type SessionRequest } from '../store.ts'
import { type Held, SessionPlaces } from './session-places.ts'

/** ResidentSessions in memory: who is alive until when, and which places hang off each. */
export class ResidentSessions {
  readonly #sessions = new Map<string, Session>()
  /** Those opened first end first where several end at once. */
  readonly #deadlines = new Deadlines<Session>({ rank: ({ opened }) => opened })
  #opened = 0

  get size(): number {
    return this.#sessions.size
  }

  nextDeadlineMs(): number | undefined {
    return this.#deadlines.nextMs()
  }

  isAlive(session: string): boolean {
    return this.#sessions.has(session)
  }

  open({ session: id, node, ttlMs }: SessionRequest, nowMs: number): SessionReply {
    if (!this.#sessions.has(id))
      this.#sessions.set(id, { session: id, node, ttlMs, opened: ++this.#opened, places: new SessionPlaces() })
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

  /** Ends a session and returns the places that go with it, by name: the order in which they came is not kept. */
  end(id: string): readonly Place[] {
    const session = this.#sessions.get(id)
    if (!session) return []
    this.#sessions.delete(id)
    this.#deadlines.set(session, undefined)
    return session.places.end()
  }

  /** The id of a session whose ttl has run out. */
  due(nowMs: number): string | undefined {
    return this.#deadlines.due(nowMs)?.session
  }

  /** A step has changed what hangs off sessions. */
  follow(at: Held, { gained, lost }: PlaceChanges): void {
    for (const place of lost) this.#sessions.get(place.session)?.places.delete(at, place)
    for (const place of gained) this.#sessions.get(place.session)?.places.add(at, place)
  }
}

interface Session extends SessionRequest {
  readonly opened: number
  readonly places: SessionPlaces
}
