import type { Facts } from '../core/index.ts'
import { QUOTAS, type Quota, type Quotas } from '../protocol/index.ts'
import type { Store } from '../stores/store.ts'
import { Usage } from './usage.ts'

/** Of a token that acts for more nodes than this, what they have is added up once a second. */
const FEW = 4
const SUM_MS = 1_000

/** What a node, and all nodes of a token together, may have. */
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

  /** What has to be said to a step of this node: nothing nearly always. */
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

  #ofAll(nodes: readonly string[], what: keyof Quota): number {
    const sum = (kind: keyof Quota) => nodes.reduce((total, node) => total + this.#of(node, kind), 0)
    if (nodes.length <= FEW) return sum(what)
    const nowMs = this.#store.nowMs()
    let sums = this.#sums.get(nodes)
    if (!sums || nowMs - sums.atMs >= SUM_MS) {
      sums = { atMs: nowMs, sessions: sum('sessions'), places: sum('places'), references: sum('references') }
      this.#sums.set(nodes, sums)
    }
    return sums[what]
  }
}
