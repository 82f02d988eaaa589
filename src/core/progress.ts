import { grantOf, isOnlyOthers } from './actor.ts'
import type { Progress } from './command.ts'
import { askerOf } from './go-on.ts'
import { type ProgressReply, refused } from './reply.ts'
import type { Grant, Waiter } from './state.ts'
import type { Turn } from './turn.ts'

/** Those who wait are told of the latest so often at most. */
const TELL_MS = 1_000

export function progress(turn: Turn, command: Progress): ProgressReply {
  const { operation, fence, progress } = command
  const grant = grantOf(turn, operation, command)
  if (!grant) {
    if (isOnlyOthers(turn, operation, command)) return refused('forbidden')
    return refused(turn.resource.grants.has(operation) ? 'not-holder' : 'unknown-grant')
  }
  if (grant.fence !== fence) return refused('stale-fence')
  const { owner, node } = grant
  grant.progress = progress
  turn.events.push({ type: 'progress', operation, owner, node, fence, progress })
  const dueMs = (grant.progressToldMs ?? -Infinity) + TELL_MS
  if (dueMs > turn.nowMs) grant.progressDueMs = dueMs
  else tellProgress(turn, grant)
  return { status: 'noted' }
}

/** Tells all those who wait for this grant to end. Whoever comes later hears of it when it is queued. */
export function tellProgress(turn: Turn, grant: Grant): void {
  grant.progressDueMs = undefined
  const waiters = waitersFor(turn, grant)
  if (waiters.length === 0) return
  grant.progressToldMs = turn.nowMs
  const { operation, owner, node, fence } = grant
  const askers = waiters.map((waiter) => ({ ...askerOf(waiter), operation: waiter.operation }))
  turn.events.push({ type: 'progress-told', operation, askers, owner, node, fence, progress: grant.progress! })
}

function waitersFor({ resource, policy }: Turn, { operation }: Grant): Waiter[] {
  return policy.exclusion === 'resource' ? resource.waiters.list(Infinity) : resource.waiters.all(operation)
}
