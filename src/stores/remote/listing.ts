import { jsonSize, type ResourceView, viewOf } from '../../core/index.ts'
import { nameOf } from '../address.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { Address, ListQuery, Pace, Page } from '../store.ts'
import type { View } from '../views.ts'
import type { Backend } from './backend.ts'

/** How one resource is looked at, what is due on it done first. */
type Inspect = (address: Address, view: View<ResourceView>) => Promise<ResourceView | undefined>

/** One page, by name. What the database can filter it does; a node is looked for in the views of those that name it. */
export async function listOf(
  backend: Backend,
  inspect: Inspect,
  { query, pace }: { readonly query: ListQuery; readonly pace: Pace | undefined },
): Promise<Page> {
  const { limit, node } = query
  const found = await backend.find(query)
  const views: ResourceView[] = []
  let bytes = 0
  for (const [index, address] of found.slice(0, limit).entries()) {
    await pace?.pause()
    const view = await inspect(address, (resource) => viewOf(resource, node === undefined ? WAITERS_SHOWN : Infinity))
    if (view && hasSomethingToShow(view) && (node === undefined || names(view, node))) {
      const shown = { ...view, waiters: view.waiters.slice(0, WAITERS_SHOWN) }
      views.push(shown)
      bytes += jsonSize(shown)
    }
    const isFull = index + 1 === limit || bytes >= (pace?.pageBytes ?? Infinity)
    if (isFull) return { resources: views, ...(index + 1 < found.length && { next: nameOf(address) }) }
  }
  return { resources: views }
}

function names({ grants, waiters, references, kept }: ResourceView, node: string): boolean {
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}
