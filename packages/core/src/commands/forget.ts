import type { Forget } from '../command.ts'
import { operationOf } from '../policy.ts'
import { type ForgetReply, refused } from '../reply.ts'
import type { Turn } from '../turn.ts'

export function forget({ resource, policy }: Turn, { operation, fence = Infinity }: Forget): ForgetReply {
  const success = resource.kept.get(operation)
  const kept = success !== undefined && success.fence <= fence
  if (kept) resource.kept.delete(operation)
  if (!success && !operationOf(policy, operation)) return refused('unknown-operation')
  return { status: 'forgotten', kept, references: resource.references.size }
}
