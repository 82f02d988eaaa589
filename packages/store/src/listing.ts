import type { ResourceView } from '@baton-lock/core'

/** So many waiters of each resource are shown in a list. */
export const WAITERS_SHOWN = 100

/** What is only remembered for those who ask again is nothing to show. */
export function hasSomethingToShow({ grants, waiting, references, kept, recent }: ResourceView): boolean {
  return grants.length + waiting + references.length + kept.length + recent.length > 0
}
