import { sessionsOf } from '../state/places.ts'
import type { Resource } from '../state/state.ts'
import type { Context } from '../turn.ts'

/** A grant, and the sessions that keep it alive. */
export interface Holder {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly sinceMs: number
  readonly sessions: readonly string[]
}

/** A place in line, and the grants that keep it waiting. */
export interface Blocked {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly sinceMs: number
  readonly by: readonly Holder[]
}

/** Who holds a resource, and which places of one session wait for that. Ids of sessions are secrets: they are shown to nobody. */
export interface Contention {
  readonly holders: readonly Holder[]
  readonly blocked: readonly Blocked[]
}

/** Places of one session: what it holds itself is not blocked. */
export interface PlacesOfSession {
  readonly session: string
  readonly places: readonly Pick<Blocked, 'operation' | 'node' | 'owner'>[]
}

/** Who holds, and which of these places wait for whom. Without places, only who holds. */
export function contentionOf(resource: Resource, { policy }: Context, of?: PlacesOfSession): Contention {
  const holders = Array.from(resource.grants.values(), (grant): Holder => {
    const { operation, node, owner, fence, sinceMs } = grant
    return { operation, node, owner, fence, sinceMs, sessions: sessionsOf(grant) }
  })
  const blocked = (of?.places ?? []).flatMap(({ operation, node, owner }): Blocked[] => {
    const waiters = resource.waiters.ofOwner(operation, owner)
    const waiter = waiters.find((each) => each.node === node && each.lease.session === of!.session)
    if (!waiter) return []
    const by = holders.filter((holder) => policy.exclusion === 'resource' || holder.operation === operation)
    return [{ operation, node, owner, sinceMs: waiter.sinceMs, by }]
  })
  return { holders, blocked }
}
