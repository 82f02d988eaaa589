import type { Progress } from '../command.ts'
import { recipientOf } from '../event.ts'
import { type ProgressReply, refused } from '../reply.ts'
import { grantOf, isOnlyOthers } from '../state/actor.ts'
import type { Grant, Waiter } from '../state/state.ts'
import type { Turn } from '../turn.ts'

/** Waiters are told of progress this often at most. */
const TELL_MS = 1_000

export function progress(turn: Turn, command: Progress): ProgressReply {
  const { operation, fence, progress } = command
  const grant = grantOf(turn, operation, command)
  if (!grant) {
    if (isOnlyOthers(turn, operation, command)) return refused('forbidden')
    return refused(turn.resource.grants.has(operation) ? 'not-holder' : 'unknown-grant')
  }
  if (grant.fence !== fence) return refused('stale-fence')
  grant.progress = progress
  const dueMs = (grant.progressToldMs ?? -Infinity) + TELL_MS
  const isDue = dueMs <= turn.nowMs
  if (!isDue) grant.progressDueMs = dueMs
  emitProgress(turn, grant, isDue ? waitersFor(turn, grant) : [])
  return { status: 'noted' }
}

/**
 * Tells the waiters of a report that came too soon after the one before. Later waiters get it in the reply to their
 * request.
 */
export function tellProgress(turn: Turn, grant: Grant): void {
  grant.progressDueMs = undefined
  const waiters = waitersFor(turn, grant)
  if (waiters.length > 0) emitProgress(turn, grant, waiters)
}

function emitProgress(turn: Turn, grant: Grant, waiters: readonly Waiter[]): void {
  const { resource, nowMs: atMs } = turn
  const { namespace, id } = resource
  const { operation, owner, node, fence } = grant
  const progress = grant.progress!
  if (waiters.length > 0) grant.progressToldMs = atMs
  const to = waiters.map((waiter) => recipientOf(waiter, waiter.lease.session))
  turn.emit({ type: 'progress', namespace, resource: id, atMs, operation, node, owner, fence, progress }, to)
}

function waitersFor({ resource, policy }: Turn, { operation }: Grant): Waiter[] {
  return policy.exclusion === 'resource' ? resource.waiters.list(Infinity) : resource.waiters.all(operation)
}
