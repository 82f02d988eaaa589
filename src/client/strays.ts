import type { Place } from '../protocol/index.ts'
import type { Contact } from './contact.ts'
import { placeName } from './place.ts'
import type { Session } from './session.ts'

/**
 * Lets go of places that this client does not know of.
 *
 * A request that was given up may still be carried out: it lay with a server that was paused, longer than anybody
 * remembers that it was taken back. What it is granted then hangs off a session that lives on, and nobody would ever
 * release it. So every renewal says how many places the session has, and one that is unknown at two renewals in a row,
 * which no ask under way can be, is left.
 */
export class Strays {
  readonly #contact: Contact
  readonly #known: () => ReadonlySet<string>
  #suspects = new Set<string>()

  constructor(contact: Contact, known: () => ReadonlySet<string>) {
    this.#contact = contact
    this.#known = known
  }

  /** What fails here is tried again at the next renewal. */
  async look(session: Session, places: number): Promise<void> {
    if (places <= this.#known().size) {
      this.#suspects.clear()
      return
    }
    const reply = await this.#contact.try<'list-places'>({ type: 'list-places', session: session.id })
    if (reply.status === 'refused') return
    const unknown = reply.places.filter((place) => !this.#known().has(placeName(place)))
    const strays = unknown.filter((place) => this.#suspects.has(placeName(place)))
    this.#suspects = new Set(unknown.map(placeName))
    for (const place of strays) await this.#leave(session, place)
  }

  async #leave(session: Session, { namespace, resource, operation, node, owner }: Place): Promise<void> {
    const place = { namespace, resource, operation, node, owner }
    await this.#contact.try<'leave-place'>({ type: 'leave-place', ...place, session: session.id })
  }
}
