import type { Command, Reply, ReplyTo } from './command.ts'
import { acknowledge } from './commands/acknowledge.ts'
import { acquire } from './commands/acquire.ts'
import { cancel } from './commands/cancel.ts'
import { forget } from './commands/forget.ts'
import { heard } from './commands/heard.ts'
import { progress } from './commands/progress.ts'
import { recover } from './commands/recover.ts'
import { addReference, dropNode, releaseReference } from './commands/references.ts'
import { release } from './commands/release.ts'
import { renew } from './commands/renew.ts'
import { revoke } from './commands/revoke.ts'
import { sessionLost } from './commands/session-lost.ts'
import type { AddressedEvent } from './event.ts'
import { type Refused, refused } from './reply.ts'
import { expire, nextActMs, nextDeadlineMs } from './rules/expire.ts'
import { mayActFor } from './state/actor.ts'
import { type PlaceChanges, placeChanges } from './state/places.ts'
import type { Resource } from './state/state.ts'
import { type Context, Turn } from './turn.ts'

/** All that follows from a step: what is returned here, nobody derives again. */
export interface Step<C extends Command = Command> {
  readonly reply: ReplyTo<C> | Refused
  readonly events: readonly AddressedEvent[]
  readonly places: PlaceChanges
  /** When the next deadline of the resource is due. */
  readonly nextDeadlineMs: number | undefined
  /** When the next one is due that does something to those who hold or wait; the others only forget. */
  readonly nextActMs: number | undefined
}

/** One step of one resource: applies the deadlines that are due, then the command. Changes the resource in place. */
export function step<C extends Command>(resource: Resource, command: C, context: Context): Step<C> {
  const turn = new Turn(resource, context, endedSession(command))
  if (command.type === 'recover') recover(turn)
  expire(turn)
  const reply = isAllowed(turn, command) ? apply(turn, command) : refused('forbidden')
  const actMs = nextActMs(resource)
  return {
    reply: reply as ReplyTo<C>,
    events: turn.events,
    places: placeChanges(turn),
    nextDeadlineMs: nextDeadlineMs(resource, actMs),
    nextActMs: actMs,
  }
}

const done = { status: 'done' } as const

function endedSession(command: Command): string | undefined {
  const isEnd = command.type === 'session-lost' || (command.type === 'leave' && command.closed === true)
  return isEnd ? command.session : undefined
}

/** One that names a node acts for it. */
function isAllowed(turn: Turn, command: Command): boolean {
  return !('node' in command) || command.node === undefined || mayActFor(turn, command.node)
}

function apply(turn: Turn, command: Command): Reply {
  switch (command.type) {
    case 'acquire':
      return acquire(turn, command)
    case 'release':
      return release(turn, command)
    case 'renew':
      return renew(turn, command)
    case 'cancel':
      return cancel(turn, command)
    case 'revoke':
      return revoke(turn, command)
    case 'forget':
      return forget(turn, command)
    case 'progress':
      return progress(turn, command)
    case 'heard':
      return heard(turn, command)
    case 'acknowledge':
      return acknowledge(turn, command)
    case 'expire':
    case 'recover':
      return done
    case 'session-lost':
    case 'leave':
      return sessionLost(turn, command)
    case 'add-reference':
      return addReference(turn, command)
    case 'release-reference':
      return releaseReference(turn, command)
    case 'drop-node':
      return dropNode(turn, command)
  }
}
