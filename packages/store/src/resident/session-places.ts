import type { SessionPlace } from '@baton-lock/core'
import { nameOf } from '../address.ts'
import type { Address, Place } from '../store.ts'

/** A resource with the places on it. Nearly always there is one. */
export interface Held extends Address {
  places: PlaceAt | Map<string, PlaceAt> | undefined
}

/** A place of a session, and the resource that it is on. */
export interface PlaceAt extends SessionPlace {
  readonly at: Held
}

/** The places of one session, in the order in which they were added. Each is found through its resource. */
export class SessionPlaces {
  readonly #all = new Set<PlaceAt>()

  get size(): number {
    return this.#all.size
  }

  add(at: Held, place: SessionPlace): void {
    if (find(at, place)) return
    const { session, operation, node, owner } = place
    const added: PlaceAt = { at, session, operation, node, owner }
    this.#all.add(added)
    put(at, added)
  }

  delete(at: Held, place: SessionPlace): void {
    const found = find(at, place)
    if (!found) return
    this.#all.delete(found)
    take(at, found)
  }

  /** All of them, or the first ones. */
  all(limit = Infinity): Place[] {
    const places: Place[] = []
    for (const place of this.#all) {
      if (places.length >= limit) break
      places.push(plain(place))
    }
    return places
  }

  /**
   * At most so many. If these are all, they are ordered by name: a store that was read again does not know the order in which
   * they were added.
   */
  some(limit: number): readonly PlaceAt[] {
    const some: PlaceAt[] = []
    for (const place of this.#all) {
      if (some.length === limit) return some
      some.push(place)
    }
    const named = some.map((place) => ({ name: placeName(plain(place)), place }))
    return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ place }) => place)
  }
}

/** The places of all sessions on a resource. */
export function placesAt({ places }: Held): readonly PlaceAt[] {
  if (places === undefined) return []
  return places instanceof Map ? [...places.values()] : [places]
}

function find({ places }: Held, place: SessionPlace): PlaceAt | undefined {
  if (places instanceof Map) return places.get(keyOf(place))
  return places && isSame(places, place) ? places : undefined
}

function put(at: Held, place: PlaceAt): void {
  if (at.places === undefined) at.places = place
  else if (at.places instanceof Map) at.places.set(keyOf(place), place)
  else at.places = new Map([at.places, place].map((each) => [keyOf(each), each]))
}

function take(at: Held, place: PlaceAt): void {
  if (at.places instanceof Map) {
    at.places.delete(keyOf(place))
    if (at.places.size === 0) at.places = undefined
  } else at.places = undefined
}

function isSame(one: SessionPlace, other: SessionPlace): boolean {
  const isSameActor = one.owner === other.owner && one.node === other.node
  return isSameActor && one.session === other.session && one.operation === other.operation
}

/** With the lengths of its parts, so that different places have different keys. */
function keyOf({ session, operation, node, owner }: SessionPlace): string {
  return `${session.length} ${operation.length} ${node.length} ${session}${operation}${node}${owner}`
}

function plain({ at, operation, node, owner }: PlaceAt): Place {
  return { namespace: at.namespace, resource: at.resource, operation, node, owner }
}

function placeName(place: Place): string {
  return JSON.stringify([nameOf(place), place.operation, place.node, place.owner])
}
