import type { Place } from '@baton-lock/protocol'
import type { Sender } from '../requests/sender.ts'
import { placeName } from './place.ts'
import type { Session } from './session.ts'

/**
 * Leaves places of this client's session that the client does not know of.
 *
 * A request that was given up may still be carried out: it may have waited at a server that was paused, for longer than the server
 * remembers that it was cancelled. Its grant would belong to a session that lives on, and nobody would release it. So every renewal
 * returns the number of places. A place that is unknown at two renewals in a row is left: no request can be under way that long.
 */
export class UnknownPlaces {
  readonly #sender: Sender
  readonly #known: () => ReadonlySet<string>
  /** The names of the unknown places of the last renewal. */
  #foundBefore = new Set<string>()

  constructor(sender: Sender, known: () => ReadonlySet<string>) {
    this.#sender = sender
    this.#known = known
  }

  /** Called after a renewal, with the number of places that it returned. What fails is tried again after the next one. */
  async check(session: Session, places: number): Promise<void> {
    if (places <= this.#known().size) {
      this.#foundBefore.clear()
      return
    }
    const reply = await this.#sender.request<'list-places'>({ type: 'list-places', session: session.id })
    if (reply.status === 'refused') return
    const unknown = reply.places.filter((place) => !this.#known().has(placeName(place)))
    const stillUnknown = unknown.filter((place) => this.#foundBefore.has(placeName(place)))
    this.#foundBefore = new Set(unknown.map(placeName))
    for (const place of stillUnknown) await this.#leave(session, place)
  }

  async #leave(session: Session, { namespace, resource, operation, node, owner }: Place): Promise<void> {
    const place = { namespace, resource, operation, node, owner }
    await this.#sender.request<'leave-place'>({ type: 'leave-place', ...place, session: session.id })
  }
}
