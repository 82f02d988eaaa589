import { Deadlines, type Event, type Resource } from '../core/index.ts'
import { nameOf } from './shards.ts'
import type { Place, SessionReply, SessionRequest } from './store.ts'

/** Sessions in memory: who is alive until when, and which places hang off each. */
export class Sessions {
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
      this.#sessions.set(id, { session: id, node, ttlMs, opened: ++this.#opened, places: new Map() })
    return this.renew(id, nowMs)
  }

  renew(id: string, nowMs: number): SessionReply {
    const session = this.#sessions.get(id)
    if (!session) return { status: 'refused', code: 'session-lost' }
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
    return session && [...session.places.values()]
  }

  /** Ends a session and returns the places that go with it, by name: the order in which they came is not kept. */
  end(id: string): readonly Place[] {
    const session = this.#sessions.get(id)
    if (!session) return []
    this.#sessions.delete(id)
    this.#deadlines.set(session, undefined)
    return [...session.places].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place)
  }

  /** The id of a session whose ttl has run out. */
  due(nowMs: number): string | undefined {
    return this.#deadlines.due(nowMs)?.session
  }

  /** Keeps the places of every session that these events speak of as the resource has them now. */
  follow(resource: Resource, events: readonly Event[]): void {
    for (const event of events) {
      switch (event.type) {
        case 'queued':
        case 'granted':
        case 'claimed':
        case 'left':
        case 'hold-ended':
          this.#settle(resource, { ...event, owner: event.asker.owner, session: event.asker.session })
          break
        case 'told':
          for (const { owner, session } of event.askers) this.#settle(resource, { ...event, owner, session })
          break
        case 'ended':
          for (const session of event.sessions) this.#settle(resource, { ...event, session })
      }
    }
  }

  /** Takes a place on that was read from elsewhere. */
  adopt({ namespace, resource, operation, owner }: Place, session: string): void {
    const place = { namespace, resource, operation, owner }
    this.#sessions.get(session)?.places.set(placeName(place), place)
  }

  /** After a re-entry, which causes no event. */
  touch(
    resource: Resource,
    { operation, owner, session }: { operation: string; owner: string; session: string | undefined },
  ): void {
    this.#settle(resource, { operation, owner, session })
  }

  #settle(
    resource: Resource,
    { operation, owner, session: id }: { operation: string; owner: string; session: string | undefined },
  ): void {
    const session = id === undefined ? undefined : this.#sessions.get(id)
    if (!session) return
    const place = { namespace: resource.namespace, resource: resource.id, operation, owner }
    const name = placeName(place)
    if (hangsOff(resource, { operation, owner, session: session.session })) session.places.set(name, place)
    else session.places.delete(name)
  }
}

interface Session extends SessionRequest {
  readonly opened: number
  readonly places: Map<string, Place>
}

function placeName(place: Place): string {
  return JSON.stringify([nameOf(place), place.operation, place.owner])
}

function hangsOff(
  resource: Resource,
  { operation, owner, session }: { operation: string; owner: string; session: string },
): boolean {
  if (resource.waiters.find(operation, owner)?.lease.session === session) return true
  const grant = resource.grants.get(operation)
  if (grant?.owner !== owner) return false
  if (grant.unclaimedLease?.session === session) return true
  for (const lease of grant.holds.values()) if (lease.session === session) return true
  return false
}
