import { nameOf } from '../address.ts'
import type { Place } from '../store.ts'

/**
 * The places of one session. Nearly always there is one on a resource, which is found by the id of the resource alone; where
 * there are more, each is found by its name.
 */
export class SessionPlaces {
  readonly #byResource = new Map<string, Place | Map<string, Place>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(place: Place): void {
    const present = this.#byResource.get(place.resource)
    if (present === undefined || (!(present instanceof Map) && isSame(present, place))) {
      if (present === undefined) this.#size++
      this.#byResource.set(place.resource, place)
      return
    }
    const several = present instanceof Map ? present : new Map([[keyOf(present), present]])
    this.#size -= several.size
    several.set(keyOf(place), place)
    this.#size += several.size
    this.#byResource.set(place.resource, several)
  }

  delete(place: Place): void {
    const present = this.#byResource.get(place.resource)
    if (present instanceof Map) {
      if (!present.delete(keyOf(place))) return
      if (present.size === 0) this.#byResource.delete(place.resource)
    } else if (present === undefined || !isSame(present, place)) return
    else this.#byResource.delete(place.resource)
    this.#size--
  }

  all(): Place[] {
    const all: Place[] = []
    for (const each of this.#byResource.values()) {
      if (each instanceof Map) all.push(...each.values())
      else all.push(each)
    }
    return all
  }

  /** By name: so the order does not depend on the one in which they came, which is not kept. */
  inOrder(): readonly Place[] {
    const named = this.all().map((place) => ({ name: placeName(place), place }))
    return named.sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ place }) => place)
  }
}

function isSame(one: Place, other: Place): boolean {
  const isSameActor = one.owner === other.owner && one.node === other.node
  return isSameActor && one.operation === other.operation && one.namespace === other.namespace
}

/** With the lengths of its parts, so that no two places of a resource share one. */
function keyOf({ namespace, operation, node = '', owner }: Place): string {
  return `${namespace.length} ${operation.length} ${node.length} ${namespace}${operation}${node}${owner}`
}

function placeName(place: Place): string {
  return JSON.stringify([nameOf(place), place.operation, place.node, place.owner])
}
