import type { Release } from '../command.ts'
import {
  type Refused,
  type Released,
  type ReleaseReply,
  type ReportedOutcome,
  refused,
  type SuccessOutcome,
  traceOf,
} from '../reply.ts'
import { endGrant, endHold, rememberEnd } from '../rules/end.ts'
import { recall } from '../rules/remembered-asks.ts'
import { grantOf, isNamed, isOnlyOthers } from '../state/actor.ts'
import type { EndedAsk, Grant } from '../state/state.ts'
import type { Turn } from '../turn.ts'

export function release(turn: Turn, command: Release): ReleaseReply {
  const { operation, hold, fence } = command
  const grant = grantOf(turn, operation, command)
  if (!grant || (fence ?? grant.fence) !== grant.fence || !grant.holds.has(hold)) {
    return repeated(turn, command) ?? refusal(turn, command)
  }
  return releaseHold(turn, { grant, hold, outcome: outcomeOf(command) })
}

/** One hold fewer; the last one ends the grant with its outcome. */
export function releaseHold(
  turn: Turn,
  { grant, hold, outcome }: { grant: Grant; hold: string; outcome: ReportedOutcome },
): Released {
  const reply: Released = { status: 'released', outcome: outcome.outcome, holdsLeft: grant.holds.size - 1 }
  rememberEnd(turn, grant, hold, reply)
  if (reply.holdsLeft > 0) endHold(turn, grant, hold)
  else endGrant(turn, grant, outcome, hold)
  return reply
}

/** The same release again, perhaps because the first reply was lost, gets the same answer. What was only told held nothing. */
function repeated(turn: Turn, command: Release): ReleaseReply | undefined {
  const { fence } = command
  const isMeant = (ended: EndedAsk) => !ended.kept && (fence ?? ended.fence) === ended.fence
  return recall(turn, turn.resource.released, command, isMeant)?.reply
}

function refusal(turn: Turn, command: Release): Refused {
  const { operation, fence } = command
  const grant = turn.resource.grants.get(operation)
  if (isOnlyOthers(turn, operation, command)) return refused('forbidden')
  if (!grant) return refused('unknown-grant')
  if (isNamed(turn, grant, command) && fence !== undefined && fence !== grant.fence) return refused('stale-fence')
  return refused('not-holder')
}

function outcomeOf(command: Release): ReportedOutcome {
  switch (command.outcome) {
    case 'success':
      if (isPlain(command)) return success
      return {
        outcome: 'success',
        ...(command.result !== undefined && { result: command.result }),
        ...(command.resultOmitted && { resultOmitted: true }),
        ...(command.effect !== undefined && { effect: command.effect }),
        ...(command.keepMs !== undefined && { keepMs: command.keepMs }),
        ...traceOf(command),
      }
    case 'failure': {
      const { error, permanent } = command
      return { outcome: 'failure', error, ...(permanent && { permanent: true }), ...traceOf(command) }
    }
    case 'cancelled':
      return { outcome: 'cancelled' }
  }
}

/** Shared by all that have nothing to add. */
const success: ReportedOutcome = { outcome: 'success' }

function isPlain({ result, resultOmitted, effect, keepMs, traceparent }: SuccessOutcome): boolean {
  const isTold = result !== undefined || resultOmitted || traceparent !== undefined
  return !isTold && effect === undefined && keepMs === undefined
}
