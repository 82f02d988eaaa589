import type { AddressedEvent, Resource } from '@baton-lock/core'
import type { QueueDepth } from '../store.ts'

/** More are not listed: then clients make up namespaces. */
const TOLD = 10_000

/** The number of waiters by namespace and operation. */
export class QueueDepths {
  readonly #all = new Map<string, Map<string, number>>()

  /** A step has done this. */
  follow(events: readonly AddressedEvent[]): void {
    for (const { event } of events) {
      if (event.type === 'queued') this.#change(event.namespace, event.operation, 1)
      else if (event.type === 'left') this.#change(event.namespace, event.operation, -1)
      else if (event.type === 'told') this.#change(event.namespace, event.operation, -event.count)
      else if (event.type === 'granted' && event.handOver) this.#change(event.namespace, event.operation, -1)
    }
  }

  /** A resource was read. */
  found({ namespace, waiters }: Resource): void {
    if (waiters.size === 0) return
    for (const operation of waiters.operations()) this.#change(namespace, operation, waiters.count(operation))
  }

  clear(): void {
    this.#all.clear()
  }

  list(): readonly QueueDepth[] {
    const told: QueueDepth[] = []
    for (const [namespace, queues] of this.#all) {
      for (const [operation, waiting] of queues) {
        told.push({ namespace, operation, waiting })
        if (told.length === TOLD) return told
      }
    }
    return told
  }

  #change(namespace: string, operation: string, by: number): void {
    let queues = this.#all.get(namespace)
    if (!queues) {
      queues = new Map()
      this.#all.set(namespace, queues)
    }
    const waiting = (queues.get(operation) ?? 0) + by
    if (waiting > 0) queues.set(operation, waiting)
    else queues.delete(operation)
    if (queues.size === 0) this.#all.delete(namespace)
  }
}
