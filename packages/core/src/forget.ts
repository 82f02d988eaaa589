import type { Forget } from './command.ts'
import { operationOf } from './policy.ts'
import { type ForgetReply, refused } from './reply.ts'
import type { Turn } from './turn.ts'

export function forget({ resource, policy }: Turn, { operation }: Forget): ForgetReply {
  const kept = resource.kept.delete(operation)
  if (!kept && !operationOf(policy, operation)) return refused('unknown-operation')
  return { status: 'forgotten', kept, references: resource.references.size }
}
