import type { Blocked, CycleLink, Holder, ResourceView, WaitReason } from '@baton-lock/core'
import type { Address, Store } from '@baton-lock/store/store'

type Cycle = Extract<WaitReason, { why: 'cycle' }>
type CycleStore = Pick<Store, 'contention' | 'places'>

/** So often the store is looked at for one request, whatever it asks for: a look costs as much as reading a resource. */
const LOOKS = 32
/** So many places of one session are looked at. */
const PLACES = 100
/** So many clients may be in one cycle. */
const LINKS = 8
/** A shorter wait is nothing to explain. */
const WAIT_MS = 1_000
/** Times of different resources may come from different clocks. */
const SKEW_MS = 1_000

/** A session that holds something, and waits for the holder that comes next. */
interface Step {
  readonly session: string
  readonly holder: Holder
  readonly resource: string
  readonly waits: { readonly blocked: Blocked; readonly resource: string }
}

/**
 * Looks for clients that wait for one another: from a grant to its session, to what else that session waits for, to the grant
 * that blocks it, and so on, until a session comes again. A session may do several things that have nothing to do with one
 * another, so what it waits for counts only if it has asked for it since it has held the other. Other namespaces are not looked
 * at: whoever asks may not be allowed to see them.
 */
export class CycleSearch {
  readonly #store: CycleStore
  readonly #nowMs: number
  readonly #places = new Map<string, ReadonlyMap<string, Place[]>>()
  #looks = LOOKS

  constructor(store: CycleStore, nowMs: number) {
    this.#store = store
    this.#nowMs = nowMs
  }

  /** The cycles that the holders of a resource are in, or wait for; by fence. */
  async cyclesAt({ namespace, resource, waiters }: ResourceView): Promise<ReadonlyMap<number, WaitReason>> {
    const cycles = new Map<number, WaitReason>()
    if (!waiters.some(({ sinceMs }) => this.#isLong(sinceMs)) || !this.#mayLook()) return cycles
    const { holders } = await this.#store.contention({ namespace, resource })
    for (const holder of holders) {
      const cycle = await this.#follow({ namespace, resource }, holder, [])
      if (cycle) cycles.set(holder.fence, cycle)
    }
    return cycles
  }

  async #follow(at: Address, holder: Holder, path: readonly Step[]): Promise<Cycle | undefined> {
    for (const session of holder.sessions) {
      const from = path.findIndex((step) => step.session === session)
      // What a client waits for and holds itself may be two tasks that come one after another.
      if (from >= 0 && path.length - from > 1) return this.#cycleOf(path.slice(from))
      if (from >= 0 || path.length === LINKS) continue
      const cycle = await this.#followSession(at, holder, session, path)
      if (cycle) return cycle
    }
    return undefined
  }

  async #followSession(
    { namespace, resource }: Address,
    holder: Holder,
    session: string,
    path: readonly Step[],
  ): Promise<Cycle | undefined> {
    for (const [waitsFor, places] of await this.#placesOf(session, namespace)) {
      if (!this.#mayLook()) return undefined
      const { blocked } = await this.#store.contention({ namespace, resource: waitsFor }, { session, places })
      for (const each of blocked) {
        if (!this.#isLong(each.sinceMs) || each.sinceMs < holder.sinceMs - SKEW_MS) continue
        const step = { session, holder, resource, waits: { blocked: each, resource: waitsFor } }
        for (const next of each.by) {
          const cycle = await this.#follow({ namespace, resource: waitsFor }, next, [...path, step])
          if (cycle) return cycle
        }
      }
    }
    return undefined
  }

  #cycleOf(steps: readonly Step[]): Cycle {
    const links = steps.map(({ holder, resource, waits }): CycleLink => {
      const { operation, node, fence } = holder
      const waitsFor = { operation: waits.blocked.operation, resource: waits.resource }
      return { node, holds: { operation, resource, fence }, waitsFor }
    })
    const certain = steps.every(({ holder, waits: { blocked } }) => {
      return holder.owner === blocked.owner && holder.node === blocked.node
    })
    const sinceMs = Math.max(...steps.map(({ waits }) => waits.blocked.sinceMs))
    return { why: 'cycle', links, certain, forMs: Math.max(0, this.#nowMs - sinceMs) }
  }

  /** By resource. */
  async #placesOf(session: string, namespace: string): Promise<ReadonlyMap<string, Place[]>> {
    const known = this.#places.get(session)
    if (known) return known
    const byResource = new Map<string, Place[]>()
    this.#places.set(session, byResource)
    if (!this.#mayLook()) return byResource
    for (const place of (await this.#store.places(session, PLACES)) ?? []) {
      if (place.namespace !== namespace) continue
      const { resource, operation, node, owner } = place
      const places = byResource.get(resource) ?? []
      places.push({ operation, node, owner })
      byResource.set(resource, places)
    }
    return byResource
  }

  #isLong(sinceMs: number): boolean {
    return this.#nowMs - sinceMs >= WAIT_MS
  }

  #mayLook(): boolean {
    return this.#looks-- > 0
  }
}

interface Place {
  readonly operation: string
  readonly node: string
  readonly owner: string
}
