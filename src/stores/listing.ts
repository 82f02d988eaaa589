import { type Resource, type ResourceView, viewOf } from '../core/index.ts'
import { addressOf, type Shards } from './shards.ts'
import type { Slot } from './slot.ts'
import type { ListQuery, Page } from './store.ts'

const WAITERS_SHOWN = 100

/** One page of what is in memory, by name. Whole texts are read only for those that are shown. */
export function listOf(shards: Shards, query: ListQuery): Page {
  const { after, limit } = query
  const found: Slot[] = []
  for (const slot of shards.all()) {
    if ((after === undefined || slot.name > after) && matches(shards, slot, query)) found.push(slot)
    if (found.length > 4 * limit + 1_000) keepFirst(found, limit + 1)
  }
  keepFirst(found, limit + 1)
  const next = found.length > limit ? found[limit - 1]?.name : undefined
  const views = found.slice(0, limit).map((slot) => viewOf(shards.look(slot), WAITERS_SHOWN))
  // What is only remembered for those who ask again is nothing to show: such a page is shorter.
  const resources = views.filter(hasSomethingToShow)
  return { resources, ...(next !== undefined && { next }) }
}

function hasSomethingToShow({ grants, waiting, references, kept, recent }: ResourceView): boolean {
  return grants.length + waiting + references.length + kept.length + recent.length > 0
}

function keepFirst(slots: Slot[], count: number): void {
  slots.sort((a, b) => (a.name < b.name ? -1 : 1))
  slots.splice(count)
}

function matches(shards: Shards, slot: Slot, { namespace, prefix, node, active }: ListQuery): boolean {
  if (active && !slot.isActive) return false
  if (namespace !== undefined || prefix !== undefined) {
    const address = addressOf(slot.name)
    if (namespace !== undefined && address.namespace !== namespace) return false
    if (prefix !== undefined && !address.resource.startsWith(prefix)) return false
  }
  if (node === undefined) return true
  // A text that does not even have the word in it need not be read.
  if (slot.live === undefined && !slot.page.subarray(slot.from, slot.to).includes(JSON.stringify(node))) return false
  return concerns(shards.look(slot), node)
}

function concerns(resource: Resource, node: string): boolean {
  if (resource.references.has(node)) return true
  for (const grant of resource.grants.values()) if (grant.node === node) return true
  for (const kept of resource.kept.values()) if (kept.node === node) return true
  return resource.waiters.list(Infinity).some((waiter) => waiter.node === node)
}
