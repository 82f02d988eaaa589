import type { Event } from '../../core/index.ts'
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
  carried(step: StepTaken): readonly StoreEvent[] {
    const { events } = step
    if (this.#listeners.size === 0 || events.length === 0) return none
    if (events.length === 1) return [carriedOf(events[0]!, step, ++this.#seq)]
    return events.map((event) => carriedOf(event, step, ++this.#seq))
  }

  tell(events: readonly StoreEvent[]): void {
    for (const event of events) for (const listener of this.#listeners) listener(event)
  }
}

const none: readonly StoreEvent[] = []

/**
 * An event with what the store knows of it. The usual ones are copied field by field: to spread objects of several shapes
 * takes Node 20 longer than the whole step.
 */
function carriedOf(event: Event, { namespace, resource, nowMs: atMs }: StepTaken, seq: number): StoreEvent {
  if ('revision' in event && event.revision !== undefined) return { ...event, namespace, resource, seq, atMs }
  switch (event.type) {
    case 'granted': {
      const { type, operation, asker, fence, attempt, handOver, waitedMs } = event
      if (!handOver) return { type, operation, asker, fence, attempt, handOver, namespace, resource, seq, atMs }
      return { type, operation, asker, fence, attempt, handOver, waitedMs, namespace, resource, seq, atMs }
    }
    case 'ended': {
      if (event.skips) break
      const { type, operation, owner, node, sessions, fence, outcome, attempt, heldMs } = event
      return { type, operation, owner, node, sessions, fence, outcome, attempt, heldMs, namespace, resource, seq, atMs }
    }
    case 'queued': {
      const { type, operation, asker, position } = event
      return { type, operation, asker, position, namespace, resource, seq, atMs }
    }
    case 'claimed': {
      const { type, operation, asker, fence } = event
      return { type, operation, asker, fence, namespace, resource, seq, atMs }
    }
    case 'referenced': {
      const { type, node } = event
      return { type, node, namespace, resource, seq, atMs }
    }
  }
  return { ...event, namespace, resource, seq, atMs }
}
