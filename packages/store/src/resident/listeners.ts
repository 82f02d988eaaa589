import type { AddressedEvent } from '@baton-lock/core'
import type { EventListener } from '../store.ts'

/** Who listens to a store that lives in one process. */
export class Listeners {
  readonly #listeners = new Set<EventListener>()
  /** Events of steps that a listener has taken while it was told. */
  readonly #later: AddressedEvent[] = []
  #isTelling = false

  add(listener: EventListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  clear(): void {
    this.#listeners.clear()
  }

  /** A listener may take a step at once: its events come after those that are being told, in the order of the steps. */
  tell(events: readonly AddressedEvent[]): void {
    this.#later.push(...events)
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      for (let event = this.#later.shift(); event; event = this.#later.shift())
        for (const listener of this.#listeners) listener(event, false)
    } finally {
      this.#isTelling = false
    }
  }
}
