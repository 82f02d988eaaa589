import type { Grant } from '../state/state.ts'
import type { Turn } from '../turn.ts'

/** The grant that keeps this key from being granted to another. */
export function blockingGrant({ resource, policy }: Turn, operation: string): Grant | undefined {
  const own = resource.grants.get(operation)
  if (own || policy.exclusion === 'operation') return own
  return resource.grants.size === 0 ? undefined : resource.grants.values().next().value
}

/** While a queue waits for its retry delay, newcomers stand behind it. */
export function isPaused({ resource, policy }: Turn, operation: string): boolean {
  return policy.exclusion === 'operation' ? resource.pauses.has(operation) : resource.pauses.size > 0
}
