import type { GrantView, ResourceView, WaiterView } from '@baton-lock/core'
import type { Row } from '@baton-lock/dashboard/model/resource/why'

export const NOW_MS = 1_700_000_000_000

export function grantView(more: Partial<GrantView> = {}): GrantView {
  const held = { operation: 'pull', node: 'node-a', owner: 'o', fence: 7, sinceMs: NOW_MS - 10_000 }
  return { ...held, attempt: 1, claimed: true, holds: 1, ...more }
}

export function waiterView(more: Partial<WaiterView> = {}): WaiterView {
  return { operation: 'pull', node: 'node-b', owner: 'o', sinceMs: NOW_MS - 5_000, ...more }
}

/** A row of the page that was read just now. */
export function pageRow(resource: string, more: Partial<ResourceView> = {}): Row {
  const { waiters = [] } = more
  const queues = [...new Set(waiters.map(({ operation }) => operation))].map((operation) => ({
    operation,
    waiting: waiters.filter((waiter) => waiter.operation === operation).length,
  }))
  const view = {
    namespace: 'default',
    resource,
    fence: 7,
    grants: [],
    waiters,
    waiting: waiters.length,
    queues,
    references: [],
    kept: [],
    recent: [],
    pauses: [],
    ...more,
  }
  return { view, readAtMs: NOW_MS }
}
