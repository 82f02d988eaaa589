import {
  jsonSize,
  type Resource,
  type ResourceView,
  type SessionLease,
  sessionsOfGrants,
  viewOf,
  withLeases,
} from '../../core/index.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { ListQuery, Pace, Page } from '../store.ts'
import type { Shards } from './shards.ts'
import type { Slot } from './slot.ts'

/** There may be a million: after so many it is asked whether others want their turn. */
const PIECE = 500

const unhurried: Pace = {
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  pageBytes: Infinity,
}

interface ListOptions {
  readonly pace?: Pace | undefined
  /** Sees to it that what has ended at this name is seen to have. */
  readonly settle?: (name: string) => void
  readonly leaseOf?: (session: string) => SessionLease | undefined
}

/** One page of what is in memory, by name. Whole texts are read only for those that are shown, settled before. */
export async function listOf(
  shards: Shards,
  query: ListQuery,
  { pace = unhurried, settle = () => {}, leaseOf = () => undefined }: ListOptions = {},
): Promise<Page> {
  const { limit, waiters = WAITERS_SHOWN } = query
  const found = await namesOf(shards, query, pace)
  const resources: ResourceView[] = []
  let bytes = 0
  for (const [index, name] of found.slice(0, limit).entries()) {
    // As it is now: it may have changed or gone meanwhile.
    settle(name)
    const slot = shards.peek(name)
    if (!slot || !matches(shards, slot, query)) continue
    const resource = shards.resourceOf(slot)
    const view = withLeases(viewOf(resource, waiters), sessionsOfGrants(resource), leaseOf)
    // What is only remembered for those who ask again is nothing to show: such a page is shorter.
    if (!hasSomethingToShow(view)) continue
    resources.push(view)
    bytes += jsonSize(view)
    if (bytes >= pace.pageBytes) return { resources, ...(index + 1 < found.length && { next: name }) }
    const turn = pace.pause()
    if (turn) await turn
  }
  const next = found.length > limit ? found[limit - 1] : undefined
  return { resources, ...(next !== undefined && { next }) }
}

/** The names of those that are wanted, and of the one after them. */
async function namesOf(shards: Shards, query: ListQuery, pace: Pace): Promise<string[]> {
  const { after, limit } = query
  let found: string[] = []
  let seen = 0
  for (const slot of query.active ? shards.slots() : shards.all()) {
    const { name } = slot
    if ((after === undefined || name > after) && matches(shards, slot, query)) found.push(name)
    if (found.length > 4 * limit + 1_000) found = first(found, limit + 1)
    const turn = ++seen % PIECE === 0 ? pace.pause() : undefined
    if (turn) await turn
  }
  return first(found, limit + 1)
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
