import { type Resource, type ResourceView, viewOf } from '../../core/index.ts'
import { hasSomethingToShow, WAITERS_SHOWN } from '../listing.ts'
import { addressOf, nameOf } from '../shards.ts'
import type { Address, ListQuery, Page } from '../store.ts'
import type { Connections } from './connections.ts'
import { Packet } from './packet.ts'

/** One page, by name. What the database can filter it does; a node is looked for in the views of those that name it. */
export async function listOf(connections: Connections, look: Look, query: ListQuery): Promise<Page> {
  const { limit, node } = query
  const { where, values } = conditionOf(query)
  const statement = `SELECT namespace, resource FROM baton_resources r
    WHERE ${where.join(' AND ')} ORDER BY namespace, resource LIMIT ?`
  const [rows] = await connections.query(new Packet().add(statement, ...values, limit + 1))
  const found = (rows as Address[]).slice(0, limit)
  const views: ResourceView[] = []
  for (const address of found) {
    const view = await look(address, (resource) => viewOf(resource, node === undefined ? WAITERS_SHOWN : Infinity))
    if (view && hasSomethingToShow(view) && (node === undefined || names(view, node)))
      views.push({ ...view, waiters: view.waiters.slice(0, WAITERS_SHOWN) })
  }
  const last = found.at(-1)
  return { resources: views, ...(rows.length > limit && last && { next: nameOf(last) }) }
}

/** One resource as it is now, what is due on it done first. */
type Look = (address: Address, view: (resource: Resource) => ResourceView) => Promise<ResourceView | undefined>

function conditionOf({ namespace, prefix, node, active, after }: ListQuery) {
  const where = ['1']
  const values: unknown[] = []
  const and = (condition: string, ...bound: unknown[]) => {
    where.push(condition)
    values.push(...bound)
  }
  if (after !== undefined) {
    const from = addressOf(after)
    and('(r.namespace > ? OR (r.namespace = ? AND r.resource > ?))', from.namespace, from.namespace, from.resource)
  }
  if (namespace !== undefined) and('r.namespace = ?', namespace)
  if (prefix !== undefined) and('LEFT(r.resource, ?) = ?', Buffer.byteLength(prefix), prefix)
  if (active) and('r.grants + r.waiters > 0')
  if (node !== undefined) {
    const waits = `EXISTS(SELECT 1 FROM baton_waiters w
      WHERE w.namespace = r.namespace AND w.resource = r.resource AND w.node = ?)`
    and(`(LOCATE(?, r.state) > 0 OR ${waits})`, JSON.stringify(node), node)
  }
  return { where, values }
}

function names({ grants, waiters, references, kept }: ResourceView, node: string): boolean {
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}
