import { type AskName, askName, type WritableRemembered } from '@baton-lock/core'
import { NotLoaded } from './parts.ts'

/**
 * What is remembered of the asks that were read, and what steps have changed of it. Whatever is due counts as forgotten;
 * it is cleared away by and by.
 */
export class MemoriesInParts<Value extends Memory> implements WritableRemembered<Value> {
  readonly #read: ReadonlyMap<string, readonly Value[]>
  /** By the name of the ask, then by node: the new value, or nothing where it has to go. */
  readonly #changes = new Map<string, Changed<Value>>()
  /** Until when something is remembered, whatever it is. */
  untilMs: number
  #nowMs = 0

  constructor(untilMs: number, read: ReadonlyMap<string, readonly Value[]>) {
    this.untilMs = untilMs
    this.#read = read
  }

  /** Nothing or something: nobody counts them. */
  get size(): number {
    return this.untilMs > this.#nowMs ? 1 : 0
  }

  of(ask: AskName): readonly Value[] {
    const changed = this.#changes.get(askName(ask))?.byNode
    const unchanged = this.#valuesOf(ask).filter(({ node }) => !changed?.has(node))
    const set = [...(changed?.values() ?? [])].filter((value) => value !== undefined)
    return [...unchanged, ...set].filter(({ untilMs }) => untilMs > this.#nowMs)
  }

  set(ask: AskName, value: Value): void {
    this.#change(ask, value.node, value)
    this.untilMs = Math.max(this.untilMs, value.untilMs)
  }

  delete(ask: AskName, { node }: Value): void {
    this.#change(ask, node, undefined)
  }

  /** What has to be written; nothing for a value that has to go. */
  get changes(): readonly (AskName & { readonly node: string | undefined; readonly value: Value | undefined })[] {
    return [...this.#changes.values()].flatMap(({ ask, byNode }) =>
      Array.from(byNode, ([node, value]) => ({ ...ask, node, value })),
    )
  }

  forget(nowMs: number): void {
    this.#nowMs = nowMs
  }

  nextDeadlineMs(): number | undefined {
    return this.size > 0 ? this.untilMs : undefined
  }

  #change({ operation, owner, hold }: AskName, node: string | undefined, value: Value | undefined): void {
    const ask = { operation, owner, hold }
    const name = askName(ask)
    const { byNode } = this.#changes.get(name) ?? { byNode: new Map() }
    byNode.delete(node)
    this.#changes.set(name, { ask, byNode: byNode.set(node, value) })
  }

  #valuesOf(ask: AskName): readonly Value[] {
    const read = this.#read.get(askName(ask))
    if (this.untilMs > this.#nowMs && !read) throw new NotLoaded({ what: 'memories', asks: [ask] })
    return read ?? []
  }
}

interface Memory {
  readonly node?: string | undefined
  readonly untilMs: number
}

interface Changed<Value> {
  readonly ask: AskName
  readonly byNode: Map<string | undefined, Value | undefined>
}
