import { jsonSize, type ResourceView, withLeases } from '@baton-lock/core'
import { nameOf } from '../address.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import type { Address, ListQuery, Pace, Page } from '../store.ts'
import { type Shown, shownOf, type View } from '../views.ts'
import type { Backend } from './backend.ts'

/** How one resource is looked at, what is due on it done first. */
export type Inspect = (address: Address, view: View<Shown>) => Promise<Shown | undefined>

/** One page, by name. What the database can filter it does; a node is looked for in the views of those that name it. */
export async function listOf(
  backend: Backend,
  inspect: Inspect,
  { query, pace }: { readonly query: ListQuery; readonly pace: Pace | undefined },
): Promise<Page> {
  const { limit, node, waiters = WAITERS_SHOWN } = query
  const found = await backend.find(query)
  const shown: Shown[] = []
  let bytes = 0
  const page = async (next?: string): Promise<Page> => {
    const sessions = shown.flatMap((each) => each.sessions.flat())
    const leases = sessions.length > 0 ? await backend.leasesOf(sessions) : undefined
    const resources = shown.map((each) => withLeases(each.view, each.sessions, (session) => leases?.get(session)))
    return { resources, ...(next !== undefined && { next }) }
  }
  for (const [index, address] of found.slice(0, limit).entries()) {
    await pace?.pause()
    const looked = await inspect(address, shownOf(node === undefined ? waiters : Infinity))
    if (looked && hasSomethingToShow(looked.view) && (node === undefined || names(looked.view, node))) {
      const view = { ...looked.view, waiters: looked.view.waiters.slice(0, waiters) }
      shown.push({ view, sessions: looked.sessions })
      bytes += jsonSize(view)
    }
    const isFull = index + 1 === limit || bytes >= (pace?.pageBytes ?? Infinity)
    if (isFull) return page(index + 1 < found.length ? nameOf(address) : undefined)
  }
  return page()
}

function names({ grants, waiters, references, kept }: ResourceView, node: string): boolean {
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}
