import { type OperationPolicy, operationOf } from './policy.ts'
import { reference } from './references.ts'
import { type Refused, refused, type Skip } from './reply.ts'
import type { KeptSuccess } from './state.ts'
import type { Turn } from './turn.ts'

/** What the rules look at in a request: the same for one that has just come and for one that waited. */
export interface Ask {
  readonly operation: string
  readonly node: string
  readonly revision: string | undefined
  readonly disbelieved: number | undefined
  readonly reference: boolean
}

/**
 * Rules 2 and 3, for a key that is free: skip on a kept success, then what the references say. Nothing means rule 4:
 * it may be granted.
 */
export function arbitrate(turn: Turn, ask: Ask): Skip | Refused | undefined {
  const { resource, policy } = turn
  const row = operationOf(policy, ask.operation)
  if (!row) return refused('unknown-operation')

  const kept = resource.kept.get(ask.operation)
  const matches = kept !== undefined && kept.revision === ask.revision
  if (matches && (ask.disbelieved === undefined || kept.fence > ask.disbelieved)) {
    return skipped(turn, { row, ask, skip: skipOn(kept) })
  }
  if (resource.references.size > 0) {
    if (row.whenReferenced === 'refuse') return refused('in-use')
    if (row.whenReferenced === 'skip' && ask.disbelieved === undefined) {
      return skipped(turn, { row, ask, skip: { status: 'skip', fence: 0 } })
    }
  }
  if (matches) resource.kept.delete(ask.operation)
  return undefined
}

/** A skip is a use of the resource: where the table says so, the node is referenced from now on. */
export function skipped(
  turn: Turn,
  { row, ask, skip }: { row: OperationPolicy; ask: Pick<Ask, 'node' | 'reference'>; skip: Skip },
): Skip {
  if (ask.reference && row.addsReference) reference(turn, ask.node)
  return skip
}

function skipOn(kept: KeptSuccess): Skip {
  return {
    status: 'skip',
    fence: kept.fence,
    by: kept.node,
    atMs: kept.atMs,
    ...(kept.result !== undefined && { result: kept.result }),
  }
}
