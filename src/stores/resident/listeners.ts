import type { StoreEvent } from '../store.ts'
import type { StepTaken } from './resident.ts'

/** Who listens to a store that lives in one process. */
export class Listeners {
  readonly #listeners = new Set<(event: StoreEvent) => void>()
  #seq = 0

  add(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  clear(): void {
    this.#listeners.clear()
  }

  /** The events of a step as they are carried, each with its number. */
  carried({ namespace, resource, nowMs, events }: StepTaken): StoreEvent[] {
    if (this.#listeners.size === 0) return []
    return events.map((event) => ({ ...event, namespace, resource, seq: ++this.#seq, atMs: nowMs }))
  }

  tell(events: readonly StoreEvent[]): void {
    for (const event of events) for (const listener of this.#listeners) listener(event)
  }
}
