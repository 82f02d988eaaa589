import { WaitersInMemory } from './queue.ts'
import { type AskName, askName, newResource, type Remembered, type Resource } from './state.ts'

/** A resource that is kept in memory with all that belongs to it. */
export function resourceInMemory(namespace: string, id: string): Resource {
  const keeping = {
    waiters: new WaitersInMemory(),
    answers: new RememberedInMemory<never>(),
    released: new RememberedInMemory<never>(),
  }
  return newResource(namespace, id, keeping)
}

/** By name, and by age: the oldest is forgotten first. */
export class RememberedInMemory<Value extends { readonly node?: string | undefined; readonly untilMs: number }>
  implements Remembered<Value>
{
  readonly #byName = new Map<string, Entry<Value>>()
  readonly #byAge = new Set<Entry<Value>>()

  get size(): number {
    return this.#byAge.size
  }

  of(ask: AskName): readonly Value[] {
    const values: Value[] = []
    for (let entry = this.#byName.get(askName(ask)); entry; entry = entry.next) values.push(entry.value)
    return values
  }

  set(ask: AskName, value: Value): void {
    this.#set(askName(ask), value)
  }

  delete(ask: AskName, { node }: Value): void {
    this.#remove(askName(ask), node)
  }

  /** The first that is not due ends the search. */
  forget(nowMs: number): void {
    for (const { name, value } of this.#byAge) {
      if (value.untilMs > nowMs) return
      this.#remove(name, value.node)
    }
  }

  nextDeadlineMs(): number | undefined {
    return this.#byAge.values().next().value?.value.untilMs
  }

  /** All of it under the names of the asks as text, oldest first. */
  entries(): readonly [string, Value][] {
    return Array.from(this.#byAge, ({ name, value }) => [name, value])
  }

  /** Takes in what `entries` gave. */
  fill(entries: readonly (readonly [string, Value])[]): void {
    for (const [name, value] of entries) this.#set(name, value)
  }

  #set(name: string, value: Value): void {
    this.#remove(name, value.node)
    const entry: Entry<Value> = { name, value, next: undefined }
    let last = this.#byName.get(name)
    while (last?.next) last = last.next
    if (last) last.next = entry
    else this.#byName.set(name, entry)
    this.#byAge.add(entry)
  }

  #remove(name: string, node: string | undefined): void {
    let before: Entry<Value> | undefined
    for (let entry = this.#byName.get(name); entry; before = entry, entry = entry.next) {
      if (entry.value.node !== node) continue
      this.#byAge.delete(entry)
      if (before) before.next = entry.next
      else if (entry.next) this.#byName.set(name, entry.next)
      else this.#byName.delete(name)
      return
    }
  }
}

/** What one node has under a name; `next`: what another one has. */
interface Entry<Value> {
  readonly name: string
  readonly value: Value
  next: Entry<Value> | undefined
}
