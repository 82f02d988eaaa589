import type { WaiterView } from '@baton-lock/core'

/** Those who wait, each with its place in the queue of its operation; given from the first one on. */
export function placed(waiters: readonly WaiterView[]): { readonly waiter: WaiterView; readonly position: number }[] {
  const counts = new Map<string, number>()
  return waiters.map((waiter) => {
    const position = (counts.get(waiter.operation) ?? 0) + 1
    counts.set(waiter.operation, position)
    return { waiter, position }
  })
}
