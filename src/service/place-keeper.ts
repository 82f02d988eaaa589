import type { Place, Store } from '../stores/store.ts'
import type { Timers } from './timers.ts'

const RENEW_MS = 20_000

/** While somebody listens for an ask that has no session, its place in line lives. One timer renews them all. */
export class PlaceKeeper {
  readonly #store: Store
  readonly #timers: Timers
  readonly #places = new Map<object, Place>()
  #cancel: (() => void) | undefined

  constructor(store: Store, timers: Timers) {
    this.#store = store
    this.#timers = timers
  }

  keep({ namespace, resource, operation, owner }: Place): () => void {
    const entry = {}
    const place = { namespace, resource, operation, owner }
    this.#places.set(entry, place)
    this.#cancel ??= this.#timers.after(RENEW_MS, () => void this.#renewAll())
    // It may have been silent for nearly as long as it may: the next round could come too late.
    void this.#renew(place)
    return () => this.#places.delete(entry)
  }

  stop(): void {
    this.#cancel?.()
    this.#places.clear()
  }

  async #renewAll(): Promise<void> {
    for (const place of [...this.#places.values()]) await this.#renew(place)
    this.#cancel = this.#places.size > 0 ? this.#timers.after(RENEW_MS, () => void this.#renewAll()) : undefined
  }

  async #renew(place: Place): Promise<void> {
    const { operation, owner } = place
    // A store that is away renews nothing now; the next round does, and a place lives for three of them.
    await this.#store.step(place, { type: 'renew', operation, owner }).catch(() => {})
  }
}
