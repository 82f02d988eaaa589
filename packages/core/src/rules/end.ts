import { dropAllReferences, reference } from '../commands/references.ts'
import { type Event, recipientOf } from '../event.ts'
import { type OperationPolicy, plainOperation, rowOf } from '../policy.ts'
import {
  type Failed,
  type Outcome,
  type ReleaseReply,
  refused,
  type Skip,
  type SuccessOutcome,
  traceOf,
} from '../reply.ts'
import { memoriesToWrite } from '../state/in-memory.ts'
import { noteSession, removeHold, sessionsOf } from '../state/places.ts'
import { type Grant, toWrite } from '../state/state.ts'
import { ANSWER_MS, RELEASED_MS, type Turn } from '../turn.ts'
import { skipped } from './arbitrate.ts'
import { contradict } from './contradiction.ts'
import { goOn, passedOver, tell } from './go-on.ts'
import { type Attempt, firstAttempt } from './grant.ts'
import { keepLostPlace } from './remembered-asks.ts'

type Unsuccessful = Exclude<Outcome, SuccessOutcome>

/** Every grant ends here, once, whatever the reason; what follows for those who wait is decided here too. */
export function endGrant(turn: Turn, grant: Grant, outcome: Outcome, releasedHold?: string): void {
  const { resource, nowMs } = turn
  const { operation, owner, node, fence, revision, attempt } = grant
  const row = rowOf(turn.policy, grant) ?? plainOperation
  const skips = outcome.outcome === 'success' && row.waitersOnSuccess === 'skip'
  const sessions = sessionsOf(grant)
  for (const session of sessions) noteSession(turn, grant, session)
  resource.grants.delete(operation)
  for (const hold of grant.holds.keys()) if (hold !== releasedHold) rememberEnd(turn, grant, hold)
  const ended: Event = {
    type: 'ended',
    namespace: resource.namespace,
    resource: resource.id,
    atMs: nowMs,
    operation,
    node,
    owner,
    fence,
    attempt,
    outcome,
    heldMs: nowMs - grant.sinceMs,
    revision,
    skips: skips || undefined,
  }
  turn.emit(ended, [{ operation, node, owner, hold: undefined, sessions, waitedMs: undefined }])
  if (wasClaimed(grant)) {
    const after = resource.successes
    const recent = { outcome, node, owner, fence, revision, atMs: nowMs, after, untilMs: nowMs + ANSWER_MS }
    toWrite(resource, 'recent').set(operation, recent)
  } else if (grant.classic) keepLostPlace(turn, grant, passedOver)
  if (outcome.outcome === 'success') succeed(turn, { grant, row, outcome })
  else fail(turn, { grant, row, outcome })
}

/**
 * A hold that ended without being released is remembered like one that was: it cannot be released any more, and a
 * retry of its ask that comes late takes no second grant.
 */
export function rememberEnd(
  { resource, nowMs }: Turn,
  grant: Grant,
  hold: string,
  reply: ReleaseReply = refused('unknown-grant'),
): void {
  const { operation, owner, node, fence } = grant
  memoriesToWrite(resource, 'released').set(
    { operation, owner, hold },
    { node, fence, reply, untilMs: nowMs + RELEASED_MS },
  )
}

/** One hold of several goes, and has been remembered; the grant lives. */
export function endHold(turn: Turn, grant: Grant, hold: string): void {
  const { operation, owner, node, fence } = grant
  const { session } = grant.holds.get(hold)!
  removeHold(turn, grant, hold)
  const { namespace, id } = turn.resource
  const to = [recipientOf({ operation, node, owner, hold }, session)]
  turn.emit({ type: 'hold-ended', namespace, resource: id, atMs: turn.nowMs, operation, node, owner, fence }, to)
}

function succeed(
  turn: Turn,
  { grant, row, outcome }: { grant: Grant; row: OperationPolicy; outcome: SuccessOutcome },
): void {
  const { resource, nowMs } = turn
  const { operation, fence, node, revision } = grant
  const { result, resultOmitted, effect } = outcome
  if (effect !== 'none') {
    // First: what it keeps itself does not rest on these.
    if (row.dropsReferences) dropAllReferences(turn)
    resource.kept.delete(operation)
    const keepMs = outcome.keepMs ?? (revision === undefined ? row.keepMs : row.keepRevisionMs)
    if (keepMs > 0) {
      const kept = { revision, fence, node, atMs: nowMs, result, untilMs: nowMs + keepMs }
      toWrite(resource, 'kept').set(operation, {
        ...kept,
        ...(resultOmitted && { resultOmitted }),
        ...traceOf(outcome),
      })
    }
    if (row.addsReference && grant.reference) reference(turn, node)
    contradict(turn, row)
  }
  if (row.waitersOnSuccess === 'skip') {
    const skip: Skip = {
      status: 'skip',
      fence,
      by: node,
      atMs: nowMs,
      ...(result !== undefined && { result }),
      ...(resultOmitted && { resultOmitted }),
      ...(effect !== undefined && { effect }),
      ...traceOf(outcome),
    }
    const waiters = resource.waiters.ofRevision(operation, revision)
    for (const waiter of waiters) skipped(turn, { row, ask: waiter, skip })
    tell(turn, waiters, skip)
  }
  goOn(turn, operation)
}

function fail(
  turn: Turn,
  { grant, row, outcome }: { grant: Grant; row: OperationPolicy; outcome: Unsuccessful },
): void {
  const { resource, nowMs } = turn
  const { operation, revision } = grant
  const next = { ...attemptAfter(grant, outcome), revision }
  const permanent = outcome.outcome === 'failure' && outcome.permanent === true
  if (permanent || (row.attempts > 0 && next.attempt > row.attempts)) {
    const failed: Failed = {
      status: 'failed',
      fence: grant.fence,
      by: grant.node,
      error: errorOf(outcome),
      permanent,
      attempts: next.attempt - 1,
      ...traceOfFailure(outcome),
    }
    tell(turn, resource.waiters.ofRevision(operation, revision), failed)
    goOn(turn, operation, { ...firstAttempt, revision })
  } else if (outcome.outcome === 'failure' && row.retryDelayMs > 0 && resource.waiters.count(operation) > 0) {
    toWrite(resource, 'pauses').set(operation, { ...next, untilMs: nowMs + row.retryDelayMs })
  } else {
    goOn(turn, operation, next)
  }
}

/** What was tried counts: a failure or a crash. A grant that nobody claimed was not even begun. */
function attemptAfter(grant: Grant, outcome: Unsuccessful): Attempt {
  if (!wasClaimed(grant)) return { attempt: grant.attempt, previous: grant.previous }
  const tried = outcome.outcome === 'failure' || outcome.outcome === 'expired'
  return {
    attempt: grant.attempt + (tried ? 1 : 0),
    previous: { node: grant.node, outcome: outcome.outcome, error: errorOf(outcome), ...traceOfFailure(outcome) },
  }
}

/** Only who reports a failure says in which span it was. */
function traceOfFailure(outcome: Unsuccessful): ReturnType<typeof traceOf> {
  return outcome.outcome === 'failure' ? traceOf(outcome) : {}
}

function wasClaimed(grant: Grant): boolean {
  return grant.claimByMs === undefined
}

function errorOf(outcome: Unsuccessful): string {
  return outcome.outcome === 'cancelled' ? 'cancelled by its holder' : outcome.error
}
