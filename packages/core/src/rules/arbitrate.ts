import { reference } from '../commands/references.ts'
import { type OperationPolicy, rowOf } from '../policy.ts'
import { type Refused, refused, type Skip, traceOf } from '../reply.ts'
import type { KeptSuccess } from '../state/state.ts'
import type { Turn } from '../turn.ts'
import { isInDoubt } from './contradiction.ts'

/** What the rules look at in a request: the same for one that has just come and for one that waited. */
export interface Ask {
  readonly operation: string
  readonly node: string
  readonly revision: string | undefined
  readonly disbelieved: number | undefined
  readonly reference: boolean
  readonly verifies?: boolean | undefined
  readonly classic?: boolean | undefined
}

/**
 * Rules 2 and 3, for a key that is free: skip on a kept success, then what the references say. Nothing means rule 4:
 * it may be granted.
 */
export function arbitrate(turn: Turn, ask: Ask): Skip | Refused | undefined {
  const { resource, policy } = turn
  const row = rowOf(policy, ask)
  if (!row) return refused('unknown-operation')
  const skip = skipOn(turn, row, ask)
  if (skip) return skipped(turn, { row, ask, skip })
  if (resource.references.size > 0 && row.whenReferenced === 'refuse') return refused('in-use')
  const kept = keptOf(turn, ask)
  if (kept && isDisbelieved(kept, ask)) resource.kept.delete(ask.operation)
  return undefined
}

/** What an ask would skip on now, if the key is free. */
export function skipOn(turn: Turn, row: OperationPolicy, ask: Omit<Ask, 'node' | 'reference'>): Skip | undefined {
  if (isInDoubt(turn, ask.operation)) return undefined
  const kept = keptOf(turn, ask)
  if (kept && !isDisbelieved(kept, ask)) return skipOnKept(kept)
  return isVouchedFor(turn, row, ask) ? { status: 'skip', fence: 0 } : undefined
}

/** A skip is a use of the resource: where the table says so, the node is referenced from now on. */
export function skipped(
  turn: Turn,
  { row, ask, skip }: { row: OperationPolicy; ask: Pick<Ask, 'node' | 'reference' | 'verifies'>; skip: Skip },
): Skip {
  if (isUse(row, ask)) reference(turn, ask.node)
  return skip
}

/** Whether a skip references the node. One that will check for itself has not decided yet that it uses it. */
export function isUse(row: OperationPolicy, ask: Pick<Ask, 'reference' | 'verifies'>): boolean {
  return ask.reference && row.addsReference && !ask.verifies
}

/** Rule 2: the success that is kept of the same work. */
function keptOf(
  { resource }: Turn,
  { operation, revision }: Pick<Ask, 'operation' | 'revision'>,
): KeptSuccess | undefined {
  const kept = resource.kept.get(operation)
  return kept?.revision === revision ? kept : undefined
}

function isDisbelieved({ fence }: KeptSuccess, { disbelieved }: Pick<Ask, 'disbelieved'>): boolean {
  return disbelieved !== undefined && fence <= disbelieved
}

/** Rule 3: nodes use the resource, so it is there. Of a version they say nothing. */
function isVouchedFor(
  { resource }: Turn,
  row: OperationPolicy,
  { revision, disbelieved }: Pick<Ask, 'revision' | 'disbelieved'>,
): boolean {
  if (row.whenReferenced !== 'skip' || disbelieved !== undefined) return false
  return resource.references.size > 0 && revision === undefined
}

function skipOnKept(kept: KeptSuccess): Skip {
  return {
    status: 'skip',
    fence: kept.fence,
    by: kept.node,
    atMs: kept.atMs,
    ...(kept.result !== undefined && { result: kept.result }),
    ...(kept.resultOmitted && { resultOmitted: kept.resultOmitted }),
    ...traceOf(kept),
  }
}
