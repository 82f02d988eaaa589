import { policyOf, type ResourceView, whyWaiting } from '../core/index.ts'
import type { Store } from '../stores/store.ts'
import type { Statistics } from './statistics/statistics.ts'

/** Views with why those who wait do, where anybody does. */
export async function explainedViews(
  store: Store,
  statistics: Statistics | undefined,
  views: readonly ResourceView[],
): Promise<readonly ResourceView[]> {
  if (!views.some(({ waiting }) => waiting > 0)) return views
  const { policy } = await store.policy()
  const nowMs = store.nowMs()
  return views.map((view) => {
    if (view.waiting === 0) return view
    const { namespace } = view
    const { exclusion } = policyOf(policy, namespace)
    const usualMs = (operation: string) => statistics?.usualMs(namespace, operation)
    return { ...view, why: whyWaiting(view, { nowMs, exclusion, usualMs }) }
  })
}
