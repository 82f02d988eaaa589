import type { Turn } from '../turn.ts'
import { waitersToWrite } from './in-memory.ts'
import type { Lease } from './lease.ts'
import { SmallMap } from './small-map.ts'
import type { Grant, Resource, Waiter } from './state.ts'

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

type Holder = Pick<Grant, 'operation' | 'node' | 'owner'>

/** All that hangs off sessions in a resource. */
export function placesOf({ grants, waiters }: Resource): SessionPlace[] {
  const places: SessionPlace[] = []
  for (const grant of grants.values()) for (const session of sessionsOf(grant)) put(places, grant, session)
  for (const waiter of waiters.list(Infinity)) put(places, waiter, waiter.lease.session)
  return places
}

/** So many are looked through one by one: a set costs more. */
const FEW = 8

/** The sessions that a grant hangs off, each once. One that is not claimed yet has no holds. */
export function sessionsOf({ holds, unclaimedLease }: Grant): readonly string[] {
  return unclaimedLease?.session === undefined ? holds.sessions() : [unclaimedLease.session]
}

function hangsOff({ holds, unclaimedLease }: Grant, session: string): boolean {
  return unclaimedLease?.session === session || holds.hangsOff(session)
}

/** Before a session may begin or cease to keep a grant alive. */
export function noteSession(turn: Turn, grant: Grant, session: string | undefined): void {
  if (session === undefined) return
  turn.grantsBefore ??= []
  let before = turn.grantsBefore.find((each) => each.grant === grant)
  if (!before) {
    before = { grant, sessions: new SmallMap() }
    turn.grantsBefore.push(before)
  }
  if (!before.sessions.has(session)) before.sessions.set(session, hangsOff(grant, session))
}

/** A hold more, or another lease for one that is there. */
export function addHold(turn: Turn, grant: Grant, hold: string, lease: Lease): void {
  noteSession(turn, grant, grant.holds.get(hold)?.session)
  noteSession(turn, grant, lease.session)
  grant.holds.set(hold, lease)
}

export function removeHold(turn: Turn, grant: Grant, hold: string): void {
  noteSession(turn, grant, grant.holds.get(hold)?.session)
  grant.holds.delete(hold)
}

/** A waiter takes its place in line. */
export function appendWaiter(turn: Turn, waiter: Waiter): void {
  leasesBefore(turn).set(waiter, undefined)
  waitersToWrite(turn.resource).append(waiter)
}

/** A waiter's lease is another one from now on. */
export function changeLease(turn: Turn, waiter: Waiter, lease: Lease): void {
  const before = leasesBefore(turn)
  if (!before.has(waiter)) before.set(waiter, waiter.lease)
  waiter.lease = lease
  turn.resource.waiters.renewed(waiter)
}

/** A waiter leaves its queue, for whatever reason. */
export function removeWaiter(turn: Turn, waiter: Waiter): void {
  const before = leasesBefore(turn)
  if (!before.has(waiter)) before.set(waiter, waiter.lease)
  turn.resource.waiters.remove(waiter)
  turn.gone ??= new Set()
  turn.gone.add(waiter)
}

function leasesBefore(turn: Turn): Map<Waiter, Lease | undefined> {
  turn.leasesBefore ??= new Map()
  return turn.leasesBefore
}

const nothing: PlaceChanges = { gained: [], lost: [] }

/** What has come of all that was noted of grants and waiters during the step. */
export function placeChanges({ resource, grantsBefore, leasesBefore, gone }: Turn): PlaceChanges {
  if (!grantsBefore && !leasesBefore) return nothing
  const before: SessionPlace[] = []
  const after: SessionPlace[] = []
  for (const { grant, sessions } of grantsBefore ?? []) {
    const isThere = resource.grants.get(grant.operation) === grant
    for (const [session, was] of sessions) {
      if (was) put(before, grant, session)
      if (isThere && hangsOff(grant, session)) put(after, grant, session)
    }
  }
  if (leasesBefore) {
    for (const [waiter, lease] of leasesBefore) {
      put(before, waiter, lease?.session)
      if (!gone?.has(waiter)) put(after, waiter, waiter.lease.session)
    }
  }
  return { gained: missingFrom(before, after), lost: missingFrom(after, before) }
}

/** Those of the others that are not among these places. */
function missingFrom(places: readonly SessionPlace[], others: readonly SessionPlace[]): readonly SessionPlace[] {
  if (places.length === 0 || others.length === 0) return others
  if (places.length <= FEW) return others.filter((other) => !places.some((place) => isSame(place, other)))
  const names = new Set(places.map(nameOf))
  return others.filter((other) => !names.has(nameOf(other)))
}

function isSame(one: SessionPlace, other: SessionPlace): boolean {
  const isSameActor = one.owner === other.owner && one.node === other.node
  return isSameActor && one.session === other.session && one.operation === other.operation
}

/** With the lengths of its parts, so that no two places share one. */
function nameOf({ session, operation, node, owner }: SessionPlace): string {
  return `${session.length} ${operation.length} ${node.length} ${session}${operation}${node}${owner}`
}

function put(places: SessionPlace[], { operation, node, owner }: Holder, session: string | undefined): void {
  if (session !== undefined) places.push({ session, operation, node, owner })
}
