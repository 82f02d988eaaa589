import type { Place } from '../protocol/index.ts'
import type { Contact } from './contact.ts'
import { placeName } from './place.ts'
import type { Session } from './session.ts'

/**
 * Leaves the places that hang off this client's session without the client knowing of them.
 *
 * A request that was given up may still be carried out: it lay with a server that was paused, longer than anybody
 * remembers that it was cancelled. What it is granted then hangs off a session that lives on, and nobody would ever
 * release it. So every renewal says how many places the session has, and one that is unknown at two renewals in a row,
 * which no ask under way can be, is left.
 */
export class UnknownPlaces {
  readonly #contact: Contact
  readonly #known: () => ReadonlySet<string>
  /** The names of those that were found at the last renewal. */
  #foundBefore = new Set<string>()

  constructor(contact: Contact, known: () => ReadonlySet<string>) {
    this.#contact = contact
    this.#known = known
  }

  /** After a renewal, which said how many places there are. What fails here is tried again at the next one. */
  async check(session: Session, places: number): Promise<void> {
    if (places <= this.#known().size) {
      this.#foundBefore.clear()
      return
    }
    const reply = await this.#contact.try<'list-places'>({ type: 'list-places', session: session.id })
    if (reply.status === 'refused') return
    const unknown = reply.places.filter((place) => !this.#known().has(placeName(place)))
    const stillUnknown = unknown.filter((place) => this.#foundBefore.has(placeName(place)))
    this.#foundBefore = new Set(unknown.map(placeName))
    for (const place of stillUnknown) await this.#leave(session, place)
  }

  async #leave(session: Session, { namespace, resource, operation, node, owner }: Place): Promise<void> {
    const place = { namespace, resource, operation, node, owner }
    await this.#contact.try<'leave-place'>({ type: 'leave-place', ...place, session: session.id })
  }
}
