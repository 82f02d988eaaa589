import { operationOf, type Policy, policyOf, type RecentView } from '../../core/index.ts'
import { NAMESPACE } from './ask.ts'
import type { Seen } from './key-view.ts'

/** A success that waiting clients of a key take for their own. */
export interface Success {
  readonly fence: number
  readonly node: string
  readonly atMs: number
}

/**
 * What a new subscriber is told: that the work has been done, while nobody holds the key. It is what one who asked now
 * would hear as a skip, and for some seconds what those who waited have heard.
 */
export function presentSuccess({ view, policy, operation, nowMs }: Seen): Success | undefined {
  const row = rowOf(policy, operation)
  if (row?.waitersOnSuccess !== 'skip' || view.grants.some((grant) => grant.operation === operation)) return undefined
  const kept = view.kept.find((one) => one.operation === operation && one.revision === undefined)
  if (kept) return kept
  const recent = recentSuccess({ view, operation })
  if (recent && !isContradicted(recent, { view, policy })) return recent
  const [node] = view.references
  return row.whenReferenced === 'skip' && node !== undefined ? { fence: 0, node, atMs: nowMs } : undefined
}

/** The success with this fence, if it is one for those who named no revision. */
export function successWith(fence: number, { view, policy, operation }: Seen): Success | undefined {
  if (rowOf(policy, operation)?.waitersOnSuccess !== 'skip') return undefined
  const recent = recentSuccess({ view, operation })
  return recent?.fence === fence ? recent : undefined
}

function recentSuccess({ view, operation }: Pick<Seen, 'view' | 'operation'>): RecentView | undefined {
  return view.recent.find(
    (one) => one.operation === operation && one.revision === undefined && one.outcome.outcome === 'success',
  )
}

/** A pull that a delete came after is not there any more. */
function isContradicted(recent: RecentView, { view, policy }: Pick<Seen, 'view' | 'policy'>): boolean {
  return view.recent.some(
    ({ operation, fence, outcome }) =>
      fence > recent.fence &&
      outcome.outcome === 'success' &&
      outcome.effect !== 'none' &&
      rowOf(policy, operation)?.contradicts.includes(recent.operation),
  )
}

function rowOf(policy: Policy, operation: string) {
  return operationOf(policyOf(policy, NAMESPACE), operation)
}
