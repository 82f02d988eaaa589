import { tellProgress } from '../commands/progress.ts'
import { refused } from '../reply.ts'
import type { Entries } from '../state/small-map.ts'
import type { Grant, Resource } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import { isPaused } from './blocking.ts'
import { endGrant, endHold, rememberEnd } from './end.ts'
import { endEmptyPause, goOn, leave, passedOver, tell } from './go-on.ts'
import { keepAnswer, keepLostPlace } from './remembered-asks.ts'

/** Applies every deadline that is due. The dead leave the queues first, so that nothing is handed to them. */
export function expire(turn: Turn): void {
  if (!turn.mayBeDue) {
    goOnWhereFree(turn)
    return
  }
  const { resource, nowMs } = turn
  forgetAll(resource.kept, nowMs)
  forgetAll(resource.recent, nowMs)
  forgetAll(resource.contradicted, nowMs)
  if ((resource.changes?.keptUntilMs ?? Infinity) <= nowMs)
    resource.changes = { ...resource.changes!, keptUntilMs: undefined }
  resource.answers.forget(nowMs)
  resource.released.forget(nowMs)
  for (let waiter = resource.waiters.due(nowMs); waiter; waiter = resource.waiters.due(nowMs)) {
    if ((waiter.lease.expiresAtMs ?? Infinity) <= nowMs) {
      if (waiter.classic) keepLostPlace(turn, waiter, passedOver)
      leave(turn, waiter)
    } else {
      tell(turn, [waiter], refused('wait-over'))
      endEmptyPause(turn, waiter.operation)
    }
  }
  if (resource.grants.size > 0) for (const grant of [...resource.grants.values()]) expireGrant(turn, grant)
  if (resource.pauses.size > 0) endPauses(turn)
  goOnWhereFree(turn)
  if (resource.grants.size === 0) return
  for (const grant of resource.grants.values())
    if ((grant.progressDueMs ?? Infinity) <= nowMs) tellProgress(turn, grant)
}

function endPauses(turn: Turn): void {
  const { resource, nowMs } = turn
  for (const [operation, pause] of [...resource.pauses]) {
    if (pause.untilMs > nowMs) continue
    resource.pauses.delete(operation)
    goOn(turn, operation, pause)
  }
}

/** Under a policy that was applied meanwhile, queues may be free that were not, and that nobody has gone on with. */
function goOnWhereFree(turn: Turn): void {
  const { waiters } = turn.resource
  if (waiters.size === 0) return
  for (const operation of waiters.operations().sort()) {
    if (!isPaused(turn, operation)) goOn(turn, operation)
  }
}

/** When the next deadline of a resource is due. */
export function nextDeadlineMs(resource: Resource, actMs = nextActMs(resource)): number | undefined {
  let nextMs = actMs ?? Infinity
  nextMs = Math.min(nextMs, earliestOf(resource.kept), earliestOf(resource.recent), earliestOf(resource.contradicted))
  nextMs = Math.min(nextMs, resource.changes?.keptUntilMs ?? Infinity)
  nextMs = Math.min(nextMs, resource.answers.nextDeadlineMs() ?? Infinity)
  nextMs = Math.min(nextMs, resource.released.nextDeadlineMs() ?? Infinity)
  return nextMs === Infinity ? undefined : nextMs
}

/** When the next deadline is due that does something to those who hold or wait; the others only forget. */
export function nextActMs({ grants, waiters, pauses }: Resource): number | undefined {
  let nextMs = Math.min(waiters.nextDeadlineMs() ?? Infinity, earliestOf(pauses))
  if (grants.size > 0) for (const grant of grants.values()) nextMs = Math.min(nextMs, nextOfGrantMs(grant))
  return nextMs === Infinity ? undefined : nextMs
}

function nextOfGrantMs({ claimByMs, progressDueMs, unclaimedLease, holds }: Grant): number {
  const nextMs = Math.min(claimByMs ?? Infinity, progressDueMs ?? Infinity, unclaimedLease?.expiresAtMs ?? Infinity)
  return Math.min(nextMs, holds.nextMs())
}

function earliestOf(map: Entries<{ readonly untilMs: number }>): number {
  let nextMs = Infinity
  if (map.size > 0) for (const { untilMs } of map.values()) nextMs = Math.min(nextMs, untilMs)
  return nextMs
}

function expireGrant(turn: Turn, grant: Grant): void {
  const { nowMs } = turn
  if (grant.claimByMs !== undefined) {
    if (Math.min(grant.claimByMs, grant.unclaimedLease!.expiresAtMs ?? Infinity) > nowMs) return
    passOver(turn, grant)
    return
  }
  loseHolds(turn, { grant, holds: grant.holds.due(nowMs) })
}

/** A grant that its waiter has not claimed passes on. */
export function passOver(turn: Turn, grant: Grant): void {
  keepAnswer(turn, grant, passedOver)
  endGrant(turn, grant, { outcome: 'expired', error: 'not claimed in time' })
}

/** These holds are gone, with what kept them alive or because they were left; with the last one the grant ends. */
export function loseHolds(
  turn: Turn,
  { grant, holds, left = false }: { grant: Grant; holds: readonly string[]; left?: boolean },
): void {
  if (holds.length < grant.holds.size) {
    for (const hold of holds) {
      rememberEnd(turn, grant, hold)
      endHold(turn, grant, hold)
    }
  } else endGrant(turn, grant, left ? { outcome: 'cancelled' } : { outcome: 'expired', error: 'its session ran out' })
}

function forgetAll(map: Entries<{ readonly untilMs: number }>, nowMs: number): void {
  if (map.size === 0) return
  for (const [key, { untilMs }] of map) if (untilMs <= nowMs) map.delete(key)
}
