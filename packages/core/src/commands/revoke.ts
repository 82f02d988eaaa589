import type { Revoke } from '../command.ts'
import { type RevokeReply, refused } from '../reply.ts'
import { endGrant } from '../rules/end.ts'
import type { Turn } from '../turn.ts'

export function revoke(turn: Turn, { operation, fence, by }: Revoke): RevokeReply {
  const grant = turn.resource.grants.get(operation)
  if (grant && (fence ?? grant.fence) === grant.fence) {
    const error = `revoked by ${by ?? 'an operator'}`
    endGrant(turn, grant, { outcome: 'revoked', error, ...(by !== undefined && { by }) })
    return { status: 'revoked', fence: grant.fence, node: grant.node }
  }
  return repeated(turn, { operation, fence }) ?? refused(grant ? 'stale-fence' : 'unknown-grant')
}

/** The same revocation again, perhaps because the first reply was lost, gets the same answer. */
function repeated({ resource }: Turn, { operation, fence }: Omit<Revoke, 'type'>): RevokeReply | undefined {
  const recent = resource.recent.get(operation)
  if (recent === undefined || recent.fence !== fence || recent.outcome.outcome !== 'revoked') return undefined
  return { status: 'revoked', fence, node: recent.node }
}
