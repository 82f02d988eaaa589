import { WaitersInMemory } from './queue.ts'
import { newResource, type Remembered, type Resource } from './state.ts'

/** A resource that is kept in memory with all that belongs to it. */
export function resourceInMemory(namespace: string, id: string): Resource {
  const keeping = {
    waiters: new WaitersInMemory(),
    answers: new RememberedInMemory<never>(),
    released: new RememberedInMemory<never>(),
  }
  return newResource(namespace, id, keeping)
}

/** By age: the oldest come first. */
export class RememberedInMemory<Value extends { readonly untilMs: number }> implements Remembered<Value> {
  readonly #values = new Map<string, Value>()

  get size(): number {
    return this.#values.size
  }

  get(name: string): Value | undefined {
    return this.#values.get(name)
  }

  set(name: string, value: Value): void {
    this.#values.delete(name)
    this.#values.set(name, value)
  }

  delete(name: string): void {
    this.#values.delete(name)
  }

  /** The first that is not due ends the search. */
  forget(nowMs: number): void {
    for (const [name, { untilMs }] of this.#values) {
      if (untilMs > nowMs) return
      this.#values.delete(name)
    }
  }

  nextDeadlineMs(): number | undefined {
    return this.#values.values().next().value?.untilMs
  }

  /** Oldest first. */
  entries(): IterableIterator<[string, Value]> {
    return this.#values.entries()
  }
}
