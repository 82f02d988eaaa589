import type { Progress } from './command.ts'
import { type ProgressReply, refused } from './reply.ts'
import type { Turn } from './turn.ts'

export function progress(turn: Turn, { operation, owner, fence, progress }: Progress): ProgressReply {
  const grant = turn.resource.grants.get(operation)
  if (!grant) return refused('unknown-grant')
  if (grant.owner !== owner) return refused('not-holder')
  if (grant.fence !== fence) return refused('stale-fence')
  grant.progress = progress
  turn.events.push({ type: 'progress', operation, owner, node: grant.node, fence, progress })
  return { status: 'noted' }
}
