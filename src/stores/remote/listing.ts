import { type ResourceView, viewOf } from '../../core/index.ts'
import { nameOf } from '../address.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { Address, ListQuery, Page } from '../store.ts'
import type { View } from '../views.ts'
import type { Backend } from './backend.ts'

/** How one resource is looked at, what is due on it done first. */
type Inspect = (address: Address, view: View<ResourceView>) => Promise<ResourceView | undefined>

/** One page, by name. What the database can filter it does; a node is looked for in the views of those that name it. */
export async function listOf(backend: Backend, inspect: Inspect, query: ListQuery): Promise<Page> {
  const { limit, node } = query
  const found = await backend.find(query)
  const addresses = found.slice(0, limit)
  const views: ResourceView[] = []
  for (const address of addresses) {
    const view = await inspect(address, (resource) => viewOf(resource, node === undefined ? WAITERS_SHOWN : Infinity))
    if (view && hasSomethingToShow(view) && (node === undefined || names(view, node)))
      views.push({ ...view, waiters: view.waiters.slice(0, WAITERS_SHOWN) })
  }
  const last = addresses.at(-1)
  return { resources: views, ...(found.length > limit && last && { next: nameOf(last) }) }
}

function names({ grants, waiters, references, kept }: ResourceView, node: string): boolean {
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}
