import { type AddressedEvent, type Facts, nodePrefix } from '@baton-lock/core'
import { QUOTAS, type Quota, type Quotas } from '@baton-lock/protocol'
import type { Store } from '@baton-lock/store/store'

/** For a token with more nodes than this, or with patterns, usage is summed up once a second. */
const FEW = 4
const SUM_MS = 1_000

/** Enforces limits per node, and for all nodes of a token together. */
export class NodeQuotas {
  readonly #store: Store
  readonly #quotas: Quotas
  readonly #usage = new Usage()
  readonly #sums = new WeakMap<readonly string[], Quota & { readonly atMs: number }>()
  readonly #unsubscribe: () => void

  constructor(store: Store, quotas: Quotas = QUOTAS) {
    this.#store = store
    this.#quotas = quotas
    this.#unsubscribe = store.subscribe(
      (event) => this.#usage.note(event),
      () => this.#usage.forget(),
    )
  }

  stop(): void {
    this.#unsubscribe()
  }

  /** The facts for a step of this node; nearly always nothing. */
  factsFor(node: string, facts: Facts): Pick<Facts, 'hasRoom' | 'mayReference'> | undefined {
    const hasRoom = this.#isWithin('places', node, facts)
    const mayReference = this.#isWithin('references', node, facts)
    if (hasRoom && mayReference) return undefined
    return { ...(!hasRoom && { hasRoom }), ...(!mayReference && { mayReference }) }
  }

  mayOpenSession(node: string, facts: Facts): boolean {
    return this.#isWithin('sessions', node, facts)
  }

  #isWithin(what: keyof Quota, node: string, { actsFor }: Facts): boolean {
    if (this.#of(node, what) >= this.#quotas.node[what]) return false
    return actsFor === undefined || this.#ofAll(actsFor, what) < this.#quotas.token[what]
  }

  #of(node: string, what: keyof Quota): number {
    return what === 'sessions' ? (this.#store.sessionsOf?.(node) ?? 0) : this.#usage.of(node)[what]
  }

  /** Of one node, or of all nodes of a pattern. */
  #ofPattern(pattern: string, what: keyof Quota): number {
    const prefix = nodePrefix(pattern)
    if (prefix === undefined) return this.#of(pattern, what)
    return what === 'sessions' ? (this.#store.sessionsOfPrefix?.(prefix) ?? 0) : this.#usage.ofPrefix(prefix, what)
  }

  #ofAll(nodes: readonly string[], what: keyof Quota): number {
    const sum = (kind: keyof Quota) => nodes.reduce((total, pattern) => total + this.#ofPattern(pattern, kind), 0)
    if (nodes.length <= FEW && nodes.every((pattern) => nodePrefix(pattern) === undefined)) return sum(what)
    const nowMs = this.#store.nowMs()
    let sums = this.#sums.get(nodes)
    if (!sums || nowMs - sums.atMs >= SUM_MS) {
      sums = { atMs: nowMs, sessions: sum('sessions'), places: sum('places'), references: sum('references') }
      this.#sums.set(nodes, sums)
    }
    return sums[what]
  }
}

/** What a client can accumulate. */
interface Used {
  /** Grants and places in line. */
  places: number
  /** Resources that it references. */
  references: number
}

/**
 * Usage per node, counted from the events since this process started. It is never too high, so no quota applies too
 * early.
 */
class Usage {
  readonly #byNode = new Map<string, Used>()

  of(node: string): Readonly<Used> {
    return this.#byNode.get(node) ?? NOTHING
  }

  ofPrefix(prefix: string, what: keyof Used): number {
    let total = 0
    for (const [node, used] of this.#byNode) if (node.startsWith(prefix)) total += used[what]
    return total
  }

  note({ event, to }: AddressedEvent): void {
    switch (event.type) {
      case 'granted':
        // A waiter already had its place.
        if (!event.handOver) this.#change(event.node, 'places', 1)
        return
      case 'queued':
        this.#change(event.node, 'places', 1)
        return
      case 'left':
        this.#change(event.node, 'places', -1)
        return
      case 'told':
        for (const { node } of to) this.#change(node, 'places', -1)
        return
      case 'ended':
        this.#change(event.node, 'places', -1)
        return
      case 'referenced':
        this.#change(event.node, 'references', 1)
        return
      case 'dereferenced':
        this.#change(event.node, 'references', -1)
    }
  }

  /** Events may have been missed: counting starts again. */
  forget(): void {
    this.#byNode.clear()
  }

  #change(node: string, what: keyof Used, by: 1 | -1): void {
    let used = this.#byNode.get(node)
    if (!used) {
      if (by < 0) return
      used = { places: 0, references: 0 }
      this.#byNode.set(node, used)
    }
    used[what] = Math.max(0, used[what] + by)
    if (used.places === 0 && used.references === 0) this.#byNode.delete(node)
  }
}

const NOTHING: Used = { places: 0, references: 0 }
