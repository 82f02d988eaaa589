import { type OperationPolicy, operationOf } from '../policy.ts'
import { type RecentOutcome, toWrite } from '../state/state.ts'
import { RELEASED_MS, type Turn } from '../turn.ts'

/** A grant is live whose success would contradict the operation: until it ends, nobody is told that the work is there. */
export function isInDoubt(turn: Turn, operation: string): boolean {
  if (turn.resource.grants.size === 0) return false
  return liveRows(turn).some(({ contradicts }) => contradicts.includes(operation))
}

/** A grant is live whose success would drop all references: none can be added that it does not know of. */
export function areReferencesInDoubt(turn: Turn): boolean {
  return liveRows(turn).some(({ dropsReferences }) => dropsReferences)
}

/** A success drops what is kept of the operations that it contradicts, and what is still told of them. */
export function contradict(turn: Turn, row: OperationPolicy): void {
  const { resource, nowMs } = turn
  for (const operation of row.contradicts) resource.kept.delete(operation)
  const success = ++resource.successes
  for (const operation of row.contradicts)
    toWrite(resource, 'contradicted').set(operation, { success, untilMs: nowMs + RELEASED_MS })
}

/** A success has come since that contradicts what was told, or had ended, when there had been so many successes. */
export function isContradicted(
  { resource }: Turn,
  operation: string,
  { after }: Pick<RecentOutcome, 'after'>,
): boolean {
  return (resource.contradicted.get(operation)?.success ?? 0) > after
}

function liveRows({ resource, policy }: Turn): OperationPolicy[] {
  return Array.from(resource.grants.keys(), (operation) => operationOf(policy, operation)).filter(
    (row) => row !== undefined,
  )
}
