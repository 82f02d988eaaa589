import type { SessionPlace } from '../../core/index.ts'
import { nameOf } from '../address.ts'
import type { Address, Place } from '../store.ts'

/** A resource, as far as the places on it are concerned: nearly always it has one. */
export interface Held extends Address {
  places: HeldPlace | Map<string, HeldPlace> | undefined
}

/** A place of a session, and the resource that it is on. */
export interface PlaceAt extends SessionPlace {
  readonly at: Held
}

/** With its neighbours in the list of that session. */
interface HeldPlace extends PlaceAt {
  before: HeldPlace | undefined
  after: HeldPlace | undefined
}

/**
 * The places of one session: a list of them, each of which is found by the resource that it is on. A map of all places of a
 * session would have to be made anew again and again where it has a million of them.
 */
export class SessionPlaces {
  #first: HeldPlace | undefined
  #last: HeldPlace | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(at: Held, place: SessionPlace): void {
    if (find(at, place)) return
    const { session, operation, node, owner } = place
    const added: HeldPlace = { at, session, operation, node, owner, before: this.#last, after: undefined }
    if (this.#last) this.#last.after = added
    else this.#first = added
    this.#last = added
    this.#size++
    put(at, added)
  }

  delete(at: Held, place: SessionPlace): void {
    const found = find(at, place)
    if (!found) return
    const { before, after } = found
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
    this.#size--
    take(at, found)
  }

  /** As they came. */
  all(): Place[] {
    const all: Place[] = []
    for (let place = this.#first; place; place = place.after) all.push(plain(place))
    return all
  }

  /**
   * So many of them at most. Where these are all, by name: the order in which they came is not kept by a store that is read
   * again.
   */
  some(limit: number): readonly PlaceAt[] {
    const some: PlaceAt[] = []
    for (let place = this.#first; place && some.length < limit; place = place.after) some.push(place)
    if (some.length < this.#size) return some
    const named = some.map((place) => ({ name: placeName(plain(place)), place }))
    return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ place }) => place)
  }
}

/** The places of all sessions on a resource. */
export function placesAt({ places }: Held): readonly PlaceAt[] {
  if (places === undefined) return []
  return places instanceof Map ? [...places.values()] : [places]
}

function find({ places }: Held, place: SessionPlace): HeldPlace | undefined {
  if (places instanceof Map) return places.get(keyOf(place))
  return places && isSame(places, place) ? places : undefined
}

function put(at: Held, place: HeldPlace): void {
  if (at.places === undefined) at.places = place
  else if (at.places instanceof Map) at.places.set(keyOf(place), place)
  else at.places = new Map([at.places, place].map((each) => [keyOf(each), each]))
}

function take(at: Held, place: HeldPlace): void {
  if (at.places instanceof Map) {
    at.places.delete(keyOf(place))
    if (at.places.size === 0) at.places = undefined
  } else at.places = undefined
}

function isSame(one: SessionPlace, other: SessionPlace): boolean {
  const isSameActor = one.owner === other.owner && one.node === other.node
  return isSameActor && one.session === other.session && one.operation === other.operation
}

/** With the lengths of its parts, so that no two places on a resource share one. */
function keyOf({ session, operation, node, owner }: SessionPlace): string {
  return `${session.length} ${operation.length} ${node.length} ${session}${operation}${node}${owner}`
}

function plain({ at, operation, node, owner }: PlaceAt): Place {
  return { namespace: at.namespace, resource: at.resource, operation, node, owner }
}

function placeName(place: Place): string {
  return JSON.stringify([nameOf(place), place.operation, place.node, place.owner])
}
