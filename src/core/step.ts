import { acquire } from './acquire.ts'
import { cancel } from './cancel.ts'
import type { Command, Reply, ReplyTo } from './command.ts'
import type { Event } from './event.ts'
import { expire } from './expire.ts'
import { progress } from './progress.ts'
import { recover } from './recover.ts'
import { addReference, dropNode, releaseReference } from './references.ts'
import { release } from './release.ts'
import { renew } from './renew.ts'
import { revoke } from './revoke.ts'
import { sessionLost } from './session-lost.ts'
import type { Resource } from './state.ts'
import type { Context, Turn } from './turn.ts'

export interface Step<C extends Command = Command> {
  readonly reply: ReplyTo<C>
  readonly events: readonly Event[]
}

/** One step of one resource: applies the deadlines that are due, then the command. Changes the resource in place. */
export function step<C extends Command>(resource: Resource, command: C, context: Context): Step<C> {
  const turn: Turn = { ...context, resource, events: [] }
  if (command.type === 'recover') recover(turn)
  expire(turn)
  return { reply: apply(turn, command) as ReplyTo<C>, events: turn.events }
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
    case 'progress':
      return progress(turn, command)
    case 'expire':
    case 'recover':
      return { status: 'done' }
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
