import { type ResourceView, viewOf } from '../../core/index.ts'
import { addressOf, nameOf } from '../shards.ts'
import type { Address, ListQuery, Page } from '../store.ts'
import { type Connections, Packet } from './connections.ts'
import type { Steps } from './steps.ts'

const WAITERS_SHOWN = 100

/** One page, by name. What the database can filter it does; a node is looked for in the views of those that name it. */
export async function listOf(connections: Connections, steps: Steps, query: ListQuery): Promise<Page> {
  const { limit, node } = query
  const { where, values } = conditionOf(query)
  const statement = `SELECT namespace, resource FROM baton_resources r
    WHERE ${where.join(' AND ')} ORDER BY namespace, resource LIMIT ?`
  const [rows] = await connections.query(new Packet().add(statement, ...values, limit + 1))
  const found = (rows as Address[]).slice(0, limit)
  const views: ResourceView[] = []
  for (const address of found) {
    const { result } = await steps.look(address, {
      view: (resource) => viewOf(resource, node === undefined ? WAITERS_SHOWN : Infinity),
    })
    if (result && hasSomethingToShow(result) && (node === undefined || names(result, node)))
      views.push({ ...result, waiters: result.waiters.slice(0, WAITERS_SHOWN) })
  }
  const last = found.at(-1)
  return { resources: views, ...(rows.length > limit && last && { next: nameOf(last) }) }
}

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

function hasSomethingToShow({ grants, waiting, references, kept, recent }: ResourceView): boolean {
  return grants.length + waiting + references.length + kept.length + recent.length > 0
}

function names({ grants, waiters, references, kept }: ResourceView, node: string): boolean {
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}
