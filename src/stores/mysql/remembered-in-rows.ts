import type { Remembered } from '../../core/index.ts'
import { NotLoaded } from './loaded.ts'

/** What was read of what is remembered, by name. */
export type LoadedMemories<Value> = ReadonlyMap<string, readonly Value[]>

/**
 * What is remembered under the names that were read, and what steps have changed of it. Whatever is due counts as
 * forgotten; its rows are swept away by and by.
 */
export class RememberedInRows<Value extends Memory> implements Remembered<Value> {
  readonly #loaded: LoadedMemories<Value>
  /** By name, then by node: the new value, or nothing where it has to go. */
  readonly #changes = new Map<string, Map<string | undefined, Value | undefined>>()
  /** Until when something is remembered, whatever it is. */
  untilMs: number
  #nowMs = 0

  constructor(untilMs: number, loaded: LoadedMemories<Value>) {
    this.untilMs = untilMs
    this.#loaded = loaded
  }

  /** Nothing or something: nobody counts them. */
  get size(): number {
    return this.untilMs > this.#nowMs ? 1 : 0
  }

  of(name: string): readonly Value[] {
    const changes = this.#changes.get(name)
    const unchanged = this.#read(name).filter(({ node }) => !changes?.has(node))
    const changed = [...(changes?.values() ?? [])].filter((value) => value !== undefined)
    return [...unchanged, ...changed].filter(({ untilMs }) => untilMs > this.#nowMs)
  }

  set(name: string, value: Value): void {
    this.#change(name, value.node, value)
    this.untilMs = Math.max(this.untilMs, value.untilMs)
  }

  delete(name: string, { node }: Value): void {
    this.#change(name, node, undefined)
  }

  get changes(): readonly MemoryChange<Value>[] {
    return [...this.#changes].flatMap(([name, byNode]) =>
      Array.from(byNode, ([node, value]) => ({ name, node, value })),
    )
  }

  forget(nowMs: number): void {
    this.#nowMs = nowMs
  }

  nextDeadlineMs(): number | undefined {
    return this.size > 0 ? this.untilMs : undefined
  }

  #change(name: string, node: string | undefined, value: Value | undefined): void {
    const byNode = this.#changes.get(name) ?? new Map()
    byNode.delete(node)
    this.#changes.set(name, byNode.set(node, value))
  }

  #read(name: string): readonly Value[] {
    if (this.untilMs > this.#nowMs && !this.#loaded.has(name)) throw new NotLoaded({ what: 'remembered', name })
    return this.#loaded.get(name) ?? []
  }
}

interface Memory {
  readonly node?: string | undefined
  readonly untilMs: number
}

/** Nothing where it has to go. */
export interface MemoryChange<Value> {
  readonly name: string
  readonly node: string | undefined
  readonly value: Value | undefined
}
