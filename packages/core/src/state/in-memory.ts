import { WaitersInMemory } from './queue.ts'
import {
  type AskName,
  askName,
  askNamed,
  type Keeping,
  newResource,
  type Resource,
  type WritableRemembered,
  type WritableWaiters,
} from './state.ts'

/** A resource that is kept in memory with all that belongs to it. */
export function resourceInMemory(namespace: string, id: string): Resource {
  return newResource(namespace, id, nothing)
}

/** The waiters of a resource, to append one. Resources in memory share an empty queue until then: there may be a million. */
export function waitersToWrite(resource: { waiters: Resource['waiters'] }): WritableWaiters {
  if (resource.waiters === nothing.waiters) resource.waiters = new WaitersInMemory()
  return resource.waiters as WritableWaiters
}

/** What a resource remembers of asks, to put something in. */
export function memoriesToWrite<Part extends 'answers' | 'released'>(
  resource: { [Each in Part]: Resource[Each] },
  part: Part,
): Keeping[Part] {
  if (resource[part] === nothing[part]) resource[part] = new RememberedInMemory<never>()
  return resource[part] as Keeping[Part]
}

/** By name, and by age: the oldest is forgotten first. Costs next to nothing while there is nothing to remember. */
export class RememberedInMemory<Value extends { readonly node?: string | undefined; readonly untilMs: number }>
  implements WritableRemembered<Value>
{
  #memories: Memories<Value> | undefined

  get size(): number {
    return this.#memories?.size ?? 0
  }

  of(ask: AskName): readonly Value[] {
    const values: Value[] = []
    const memories = this.#memories
    for (let entry = memories?.find(ask); entry; entry = memories!.next(entry, ask)) values.push(entry.value)
    return values
  }

  set(ask: AskName, value: Value): void {
    this.#memories ??= new Memories()
    this.#memories.remove(ask, value.node)
    this.#memories.add(ask, value)
  }

  delete(ask: AskName, { node }: Value): void {
    this.#remove(ask, node)
  }

  /** The first that is not due ends the search. */
  forget(nowMs: number): void {
    for (let entry = this.#memories?.oldest; entry && entry.value.untilMs <= nowMs; entry = this.#memories?.oldest)
      this.#remove(entry, entry.value.node)
  }

  nextDeadlineMs(): number | undefined {
    return this.#memories?.oldest?.value.untilMs
  }

  /** All of it under the names of the asks as text, oldest first. */
  entries(): readonly [string, Value][] {
    const entries: [string, Value][] = []
    for (let entry = this.#memories?.oldest; entry; entry = entry.newer) entries.push([askName(entry), entry.value])
    return entries
  }

  /** Takes in what `entries` gave. */
  fill(entries: readonly (readonly [string, Value])[]): void {
    for (const [name, value] of entries) this.set(askNamed(name), value)
  }

  #remove(ask: AskName, node: string | undefined): void {
    this.#memories?.remove(ask, node)
    if (this.#memories?.size === 0) this.#memories = undefined
  }
}

/** Shared by all resources that have no waiters and no memories: whoever has some to put in takes its own first. */
const nothing: Keeping = {
  waiters: new WaitersInMemory(),
  answers: new RememberedInMemory<never>(),
  released: new RememberedInMemory<never>(),
}

/** So many are looked through one by one. */
const FEW = 8

/** A list by age; once there are more than a few, also found by name. */
class Memories<Value extends { readonly node?: string | undefined }> {
  oldest: Entry<Value> | undefined
  #newest: Entry<Value> | undefined
  /** The first of those that share a key. */
  #byKey: Map<string, Entry<Value>> | undefined
  size = 0

  /** The oldest of this name. */
  find(ask: AskName): Entry<Value> | undefined {
    const first = this.#byKey ? this.#byKey.get(keyOf(ask)) : this.oldest
    return first && (isNamed(first, ask) ? first : this.next(first, ask))
  }

  /** The next younger one of this name. */
  next(entry: Entry<Value>, ask: AskName): Entry<Value> | undefined {
    let next = this.#byKey ? entry.nextOfKey : entry.newer
    while (next && !isNamed(next, ask)) next = this.#byKey ? next.nextOfKey : next.newer
    return next
  }

  add({ operation, owner, hold }: AskName, value: Value): void {
    const entry: Entry<Value> = {
      operation,
      owner,
      hold,
      value,
      older: this.#newest,
      newer: undefined,
      nextOfKey: undefined,
    }
    if (this.#newest) this.#newest.newer = entry
    else this.oldest = entry
    this.#newest = entry
    this.size++
    if (this.#byKey) this.#enter(this.#byKey, entry)
    else if (this.size > FEW) {
      this.#byKey = new Map()
      for (let each = this.oldest; each; each = each.newer) this.#enter(this.#byKey, each)
    }
  }

  remove(ask: AskName, node: string | undefined): void {
    let entry = this.find(ask)
    while (entry && entry.value.node !== node) entry = this.next(entry, ask)
    if (!entry) return
    if (entry.older) entry.older.newer = entry.newer
    else this.oldest = entry.newer
    if (entry.newer) entry.newer.older = entry.older
    else this.#newest = entry.older
    this.size--
    if (this.#byKey) this.#leave(this.#byKey, entry)
  }

  #enter(byKey: Map<string, Entry<Value>>, entry: Entry<Value>): void {
    const key = keyOf(entry)
    let last = byKey.get(key)
    while (last?.nextOfKey) last = last.nextOfKey
    if (last) last.nextOfKey = entry
    else byKey.set(key, entry)
  }

  #leave(byKey: Map<string, Entry<Value>>, entry: Entry<Value>): void {
    const key = keyOf(entry)
    let before = byKey.get(key)
    if (before === entry) {
      if (entry.nextOfKey) byKey.set(key, entry.nextOfKey)
      else byKey.delete(key)
      return
    }
    while (before!.nextOfKey !== entry) before = before!.nextOfKey
    before!.nextOfKey = entry.nextOfKey
  }
}

/** What one node has under a name. */
interface Entry<Value> extends AskName {
  readonly value: Value
  older: Entry<Value> | undefined
  newer: Entry<Value> | undefined
  nextOfKey: Entry<Value> | undefined
}

/** Asks of different names may share one: then each is looked at. */
function keyOf({ owner, hold }: AskName): string {
  return `${owner} ${hold}`
}

function isNamed(entry: AskName, { operation, owner, hold }: AskName): boolean {
  return entry.hold === hold && entry.owner === owner && entry.operation === operation
}
