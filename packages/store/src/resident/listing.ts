import {
  jsonSize,
  type Resource,
  type ResourceView,
  type SessionLease,
  sessionsOfGrants,
  viewOf,
  withLeases,
} from '@baton-lock/core'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { ListQuery, Pace, Page } from '../store.ts'
import type { Shards } from './shards.ts'
import type { Slot } from './slot.ts'

/** There may be a million resources. After so many, others may have their turn. */
const PIECE = 500

const unhurried: Pace = {
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  pageBytes: Infinity,
}

interface ListOptions {
  readonly pace?: Pace | undefined
  /** Ends what is due on this resource. */
  readonly settle?: (name: string) => void
  readonly leaseOf?: (session: string) => SessionLease | undefined
}

/** One page of resources, ordered by name. Only those on the page are parsed. */
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
    // It may have changed or gone since its name was found.
    settle(name)
    const slot = shards.named(name)
    if (!slot || !matches(slot, query)) continue
    const resource = slot.read()
    const view = withLeases(viewOf(resource, waiters), sessionsOfGrants(resource), leaseOf)
    // A resource with nothing but answers for repeated asks is not shown: such a page is shorter.
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

/** The names of the page, and the one after it. */
async function namesOf(shards: Shards, query: ListQuery, pace: Pace): Promise<string[]> {
  const { after, limit } = query
  let found: string[] = []
  let seen = 0
  for (const slot of shards.all()) {
    const { name } = slot
    if ((after === undefined || name > after) && matches(slot, query)) found.push(name)
    if (found.length > 4 * limit + 1_000) found = first(found, limit + 1)
    const turn = ++seen % PIECE === 0 ? pace.pause() : undefined
    if (turn) await turn
  }
  return first(found, limit + 1)
}

/** The first of these names. A resource that was forgotten and created again is met twice. */
function first(names: readonly string[], count: number): string[] {
  return [...new Set(names)].sort((a, b) => (a < b ? -1 : 1)).slice(0, count)
}

function matches(slot: Slot, { namespace, prefix, node, active }: ListQuery): boolean {
  if (active && !slot.isActive) return false
  if (namespace !== undefined && slot.namespace !== namespace) return false
  if (prefix !== undefined && !slot.resource.startsWith(prefix)) return false
  if (node === undefined) return true
  // A text without the node's id need not be parsed.
  if (slot.live === undefined && !slot.text.includes(JSON.stringify(node))) return false
  return concerns(slot.read(), node)
}

function concerns(resource: Resource, node: string): boolean {
  if (resource.references.has(node)) return true
  for (const grant of resource.grants.values()) if (grant.node === node) return true
  for (const kept of resource.kept.values()) if (kept.node === node) return true
  return resource.waiters.list(Infinity).some((waiter) => waiter.node === node)
}
