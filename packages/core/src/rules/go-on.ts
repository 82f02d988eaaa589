import { recipientOf } from '../event.ts'
import { type Answer, refused } from '../reply.ts'
import { removeWaiter } from '../state/places.ts'
import type { Waiter } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import { arbitrate } from './arbitrate.ts'
import { blockingGrant } from './blocking.ts'
import { type Attempt, firstAttempt, grantToWaiter } from './grant.ts'
import { keepAnswer } from './remembered-asks.ts'

/** Work that failed: the attempt that comes next for a waiter of the same key and revision. */
interface FailedWork extends Attempt {
  readonly revision: string | undefined
}

/**
 * The head is arbitrated by rules 2 to 4; if it skips or is refused it is told and leaves, and the next is tried. Waiters of
 * the session that ends leave untold, so that nothing is granted to a client that is gone.
 */
export function goOn(turn: Turn, operation: string, failed?: FailedWork): void {
  while (!blockingGrant(turn, operation)) {
    const waiter = nextInLine(turn, operation, failed)
    if (!waiter) return
    if (turn.endedSession !== undefined && waiter.lease.session === turn.endedSession) {
      leave(turn, waiter)
      continue
    }
    const verdict = arbitrate(turn, waiter)
    if (!verdict) {
      removeWaiter(turn, waiter)
      const goesOn = failed && waiter.operation === operation && waiter.revision === failed.revision
      grantToWaiter(turn, waiter, goesOn ? failed : firstAttempt)
      return
    }
    tell(turn, [waiter], verdict)
  }
}

/** These waiters have their final answer: they leave, are told, and it is kept for them. */
export function tell(turn: Turn, waiters: readonly Waiter[], answer: Answer): void {
  const first = waiters[0]
  if (!first) return
  for (const waiter of waiters) {
    removeWaiter(turn, waiter)
    keepAnswer(turn, waiter, answer)
  }
  const { resource, nowMs: atMs } = turn
  const { namespace, id } = resource
  const { operation } = first
  const to = waiters.map((waiter) => recipientOf(waiter, waiter.lease.session, atMs - waiter.sinceMs))
  turn.emit({ type: 'told', namespace, resource: id, atMs, operation, answer, count: to.length }, to)
}

/** A waiter leaves untold; a queue that was paused for it alone goes on elsewhere. */
export function leave(turn: Turn, waiter: Waiter): void {
  const { operation, node, owner } = waiter
  const { namespace, id } = turn.resource
  removeWaiter(turn, waiter)
  const to = [recipientOf(waiter, waiter.lease.session)]
  turn.emit({ type: 'left', namespace, resource: id, atMs: turn.nowMs, operation, node, owner }, to)
  endEmptyPause(turn, operation)
}

export function endEmptyPause(turn: Turn, operation: string): void {
  const { resource } = turn
  if (resource.waiters.count(operation) > 0 || !resource.pauses.delete(operation)) return
  goOn(turn, operation)
}

/** The refusal of a claim that comes too late. */
export const passedOver = refused('passed-over')

/** FIFO. Under `exclusion: resource`: the key's own head after a failure, else the longest-waiting head of all. */
function nextInLine({ resource, policy }: Turn, operation: string, failed?: FailedWork): Waiter | undefined {
  const own = resource.waiters.head(operation)
  if (policy.exclusion === 'operation' || (failed && own)) return own
  const heads = resource.waiters.operations().map((each) => resource.waiters.head(each)!)
  return heads.sort((a, b) => a.ticket - b.ticket)[0]
}
