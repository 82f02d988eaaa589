import type { Revoke } from './command.ts'
import { endGrant } from './end.ts'
import { type RevokeReply, refused } from './reply.ts'
import type { Turn } from './turn.ts'

export function revoke(turn: Turn, { operation, fence }: Revoke): RevokeReply {
  const grant = turn.resource.grants.get(operation)
  if (!grant) return refused('unknown-grant')
  if (fence !== undefined && fence !== grant.fence) return refused('stale-fence')
  endGrant(turn, grant, { outcome: 'revoked', error: 'revoked by an operator' })
  return { status: 'revoked', fence: grant.fence, node: grant.node }
}
