import { type Resource, viewOf } from '../../core/index.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { ListQuery, Page } from '../store.ts'
import type { Shards } from './shards.ts'
import type { Slot } from './slot.ts'

/** There may be a million: so many are looked at in one turn, and others have theirs in between. */
const TURN = 5_000

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** One page of what is in memory, by name. Whole texts are read only for those that are shown. */
export async function listOf(shards: Shards, query: ListQuery, pause: () => Promise<void> = nextTurn): Promise<Page> {
  const { after, limit } = query
  let found: string[] = []
  let seen = 0
  for (const slot of query.active ? shards.slots() : shards.all()) {
    const { name } = slot
    if ((after === undefined || name > after) && matches(shards, slot, query)) found.push(name)
    if (found.length > 4 * limit + 1_000) found = first(found, limit + 1)
    if (++seen % TURN === 0) await pause()
  }
  found = first(found, limit + 1)
  const next = found.length > limit ? found[limit - 1] : undefined
  // As they are now: some may have changed or gone meanwhile.
  const slots = found.slice(0, limit).flatMap((name) => shards.peek(name) ?? [])
  const views = slots
    .filter((slot) => matches(shards, slot, query))
    .map((slot) => viewOf(shards.resourceOf(slot), WAITERS_SHOWN))
  // What is only remembered for those who ask again is nothing to show: such a page is shorter.
  const resources = views.filter(hasSomethingToShow)
  return { resources, ...(next !== undefined && { next }) }
}

/** The first of these names, each once. */
function first(names: readonly string[], count: number): string[] {
  return [...new Set(names)].sort((a, b) => (a < b ? -1 : 1)).slice(0, count)
}

function matches(shards: Shards, slot: Slot, { namespace, prefix, node, active }: ListQuery): boolean {
  if (active && !slot.isActive) return false
  if (namespace !== undefined && slot.namespace !== namespace) return false
  if (prefix !== undefined && !slot.resource.startsWith(prefix)) return false
  if (node === undefined) return true
  // A text that does not even have the word in it need not be read.
  if (slot.live === undefined && !slot.page.subarray(slot.from, slot.to).includes(JSON.stringify(node))) return false
  return concerns(shards.resourceOf(slot), node)
}

function concerns(resource: Resource, node: string): boolean {
  if (resource.references.has(node)) return true
  for (const grant of resource.grants.values()) if (grant.node === node) return true
  for (const kept of resource.kept.values()) if (kept.node === node) return true
  return resource.waiters.list(Infinity).some((waiter) => waiter.node === node)
}
