import type { Facts } from '../core/index.ts'
import type { Place, Store } from '../stores/store.ts'
import type { Timers } from './timers.ts'

const RENEW_MS = 20_000

/** While somebody listens for an ask of its own that has no session, its place in line lives. One timer renews them all. */
export class PlaceKeeper {
  readonly #store: Store
  readonly #timers: Timers
  readonly #places = new Set<Kept>()
  #cancel: (() => void) | undefined

  constructor(store: Store, timers: Timers) {
    this.#store = store
    this.#timers = timers
  }

  /** The step decides whether it is the listener's own. */
  keep({ namespace, resource, operation, node, owner }: Place, { actsFor }: Facts): () => void {
    const place: Kept = { namespace, resource, operation, node, owner, actsFor }
    this.#places.add(place)
    this.#cancel ??= this.#timers.after(RENEW_MS, () => void this.#renewAll())
    // It may have been silent for nearly as long as it may: the next round could come too late.
    void this.#renew(place)
    return () => this.#places.delete(place)
  }

  stop(): void {
    this.#cancel?.()
    this.#places.clear()
  }

  async #renewAll(): Promise<void> {
    for (const place of [...this.#places]) await this.#renew(place)
    this.#cancel = this.#places.size > 0 ? this.#timers.after(RENEW_MS, () => void this.#renewAll()) : undefined
  }

  async #renew(place: Kept): Promise<void> {
    const { operation, node, owner, actsFor } = place
    // A store that is away renews nothing now; the next round does, and a place lives for three of them.
    await this.#store.step(place, { type: 'renew', operation, node, owner }, { actsFor }).catch(() => {})
  }
}

type Kept = Place & Facts
