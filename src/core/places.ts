import type { Grant, Lease, Resource, Waiter } from './state.ts'
import type { Turn } from './turn.ts'

/** What hangs off a session under one key: a hold, a grant not yet claimed, or a place in line. */
export interface SessionPlace {
  readonly session: string
  readonly operation: string
  readonly node: string
  readonly owner: string
}

/** The places that sessions have gained and lost by a step. */
export interface PlaceChanges {
  readonly gained: readonly SessionPlace[]
  readonly lost: readonly SessionPlace[]
}

type Places = Map<string, SessionPlace>

/** The places of grants, to be compared with those after the step. */
export function placesOfGrants({ grants }: Resource): Places {
  const places: Places = new Map()
  for (const grant of grants.values()) {
    for (const lease of grant.holds.values()) put(places, grant, lease)
    put(places, grant, grant.unclaimedLease)
  }
  return places
}

/** All that hangs off sessions in a resource. */
export function placesOf(resource: Resource): SessionPlace[] {
  const places = placesOfGrants(resource)
  for (const waiter of resource.waiters.list(Infinity)) put(places, waiter, waiter.lease)
  return [...places.values()]
}

/** A waiter's lease is another one from now on. */
export function changeLease(turn: Turn, waiter: Waiter, lease: Lease): void {
  if (!turn.leasesBefore.has(waiter)) turn.leasesBefore.set(waiter, waiter.lease)
  waiter.lease = lease
  turn.resource.waiters.renewed(waiter)
}

/** A waiter leaves its queue, for whatever reason. */
export function removeWaiter(turn: Turn, waiter: Waiter): void {
  if (!turn.leasesBefore.has(waiter)) turn.leasesBefore.set(waiter, waiter.lease)
  turn.resource.waiters.remove(waiter)
  turn.gone.add(waiter)
}

export function placeChanges(turn: Turn, before: Places): PlaceChanges {
  const after = placesOfGrants(turn.resource)
  for (const [waiter, lease] of turn.leasesBefore) {
    put(before, waiter, lease)
    if (!turn.gone.has(waiter)) put(after, waiter, waiter.lease)
  }
  return { gained: missingFrom(before, after), lost: missingFrom(after, before) }
}

function missingFrom(places: Places, others: Places): SessionPlace[] {
  const missing: SessionPlace[] = []
  for (const [name, place] of others) if (!places.has(name)) missing.push(place)
  return missing
}

function put(
  places: Places,
  { operation, node, owner }: Pick<Grant, 'operation' | 'node' | 'owner'>,
  lease?: Lease,
): void {
  if (lease?.session === undefined) return
  const { session } = lease
  places.set(JSON.stringify([session, operation, node, owner]), { session, operation, node, owner })
}
