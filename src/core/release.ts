import type { Release } from './command.ts'
import { endGrant, endHold } from './end.ts'
import { type Refused, type Released, type ReleaseReply, type ReportedOutcome, refused } from './reply.ts'
import { askName, type Grant } from './state.ts'
import { RELEASED_MS, type Turn } from './turn.ts'

export function release(turn: Turn, command: Release): ReleaseReply {
  const { operation, owner, hold, fence } = command
  const grant = turn.resource.grants.get(operation)
  if (!grant || grant.owner !== owner || (fence ?? grant.fence) !== grant.fence || !grant.holds.has(hold)) {
    return repeated(turn, command) ?? refusal(grant, command)
  }
  return releaseHold(turn, { grant, hold, outcome: outcomeOf(command) })
}

/** One hold fewer; the last one ends the grant with its outcome. */
export function releaseHold(
  turn: Turn,
  { grant, hold, outcome }: { grant: Grant; hold: string; outcome: ReportedOutcome },
): Released {
  const { operation, owner, fence } = grant
  const reply: Released = { status: 'released', outcome: outcome.outcome, holdsLeft: grant.holds.size - 1 }
  turn.resource.released.set(askName(operation, owner, hold), { fence, reply, untilMs: turn.nowMs + RELEASED_MS })
  if (reply.holdsLeft > 0) endHold(turn, grant, hold)
  else endGrant(turn, grant, outcome)
  return reply
}

/** The same release again, perhaps because the first reply was lost, gets the same answer. */
function repeated({ resource }: Turn, { operation, owner, hold, fence }: Release): ReleaseReply | undefined {
  const done = resource.released.get(askName(operation, owner, hold))
  return done && (fence ?? done.fence) === done.fence ? done.reply : undefined
}

function refusal(grant: Grant | undefined, { owner, fence }: Release): Refused {
  if (!grant) return refused('unknown-grant')
  if (grant.owner === owner && fence !== undefined && fence !== grant.fence) return refused('stale-fence')
  return refused('not-holder')
}

function outcomeOf(command: Release): ReportedOutcome {
  switch (command.outcome) {
    case 'success':
      return {
        outcome: 'success',
        ...(command.result !== undefined && { result: command.result }),
        ...(command.effect !== undefined && { effect: command.effect }),
      }
    case 'failure':
      return { outcome: 'failure', error: command.error, ...(command.permanent && { permanent: true }) }
    case 'cancelled':
      return { outcome: 'cancelled' }
  }
}
