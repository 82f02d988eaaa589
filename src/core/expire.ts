import { isPaused } from './blocking.ts'
import { endGrant, endHold, rememberEnd } from './end.ts'
import { endEmptyPause, goOn, leave, passedOver, tell } from './go-on.ts'
import { keepAnswer } from './memory.ts'
import { tellProgress } from './progress.ts'
import { refused } from './reply.ts'
import type { Grant, Resource } from './state.ts'
import type { Turn } from './turn.ts'

/** Applies every deadline that is due. The dead leave the queues first, so that nothing is handed to them. */
export function expire(turn: Turn): void {
  const { resource, nowMs } = turn
  for (const byOperation of [resource.kept, resource.recent, resource.contradicted]) forgetAll(byOperation, nowMs)
  resource.answers.forget(nowMs)
  resource.released.forget(nowMs)
  for (let waiter = resource.waiters.due(nowMs); waiter; waiter = resource.waiters.due(nowMs)) {
    if ((waiter.lease.expiresAtMs ?? Infinity) <= nowMs) leave(turn, waiter)
    else {
      tell(turn, [waiter], refused('wait-over'))
      endEmptyPause(turn, waiter.operation)
    }
  }
  for (const grant of [...resource.grants.values()]) expireGrant(turn, grant)
  for (const [operation, pause] of [...resource.pauses]) {
    if (pause.untilMs > nowMs) continue
    resource.pauses.delete(operation)
    goOn(turn, operation, pause)
  }
  goOnWhereFree(turn)
  for (const grant of resource.grants.values())
    if ((grant.progressDueMs ?? Infinity) <= nowMs) tellProgress(turn, grant)
}

/** Under a policy that was applied meanwhile, queues may be free that were not, and that nobody has gone on with. */
function goOnWhereFree(turn: Turn): void {
  for (const operation of turn.resource.waiters.operations().sort()) {
    if (!isPaused(turn, operation)) goOn(turn, operation)
  }
}

/** When the next deadline of a resource is due. */
export function nextDeadlineMs(resource: Resource): number | undefined {
  let nextMs = nextActMs(resource) ?? Infinity
  for (const { untilMs } of resource.kept.values()) nextMs = Math.min(nextMs, untilMs)
  for (const { untilMs } of resource.recent.values()) nextMs = Math.min(nextMs, untilMs)
  for (const { untilMs } of resource.contradicted.values()) nextMs = Math.min(nextMs, untilMs)
  for (const remembered of [resource.answers, resource.released])
    nextMs = Math.min(nextMs, remembered.nextDeadlineMs() ?? Infinity)
  return nextMs === Infinity ? undefined : nextMs
}

/** When the next deadline is due that does something to those who hold or wait; the others only forget. */
export function nextActMs(resource: Resource): number | undefined {
  let nextMs = resource.waiters.nextDeadlineMs() ?? Infinity
  const at = (ms = Infinity) => {
    nextMs = Math.min(nextMs, ms)
  }
  for (const grant of resource.grants.values()) {
    at(grant.claimByMs)
    at(grant.progressDueMs)
    at(grant.unclaimedLease?.expiresAtMs)
    for (const lease of grant.holds.values()) at(lease.expiresAtMs)
  }
  for (const pause of resource.pauses.values()) at(pause.untilMs)
  return nextMs === Infinity ? undefined : nextMs
}

function expireGrant(turn: Turn, grant: Grant): void {
  const { nowMs } = turn
  if (grant.claimByMs !== undefined) {
    if (Math.min(grant.claimByMs, grant.unclaimedLease!.expiresAtMs ?? Infinity) > nowMs) return
    passOver(turn, grant)
    return
  }
  const over = [...grant.holds].filter(([, lease]) => (lease.expiresAtMs ?? Infinity) <= nowMs).map(([hold]) => hold)
  loseHolds(turn, { grant, holds: over })
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

function forgetAll(map: Map<string, { readonly untilMs: number }>, nowMs: number): void {
  for (const [key, { untilMs }] of map) if (untilMs <= nowMs) map.delete(key)
}
