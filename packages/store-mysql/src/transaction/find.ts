import { addressOf } from '@baton-lock/store/address'
import type { Address, ListQuery } from '@baton-lock/store/store'
import type { Connections } from '../connection/connections.ts'
import { Packet } from '../connection/packet.ts'

/** By name, one more than the limit where there are more. Who names a node somewhere may mean something else by it. */
export async function find(connections: Connections, query: ListQuery): Promise<readonly Address[]> {
  const { where, values } = conditionOf(query)
  const statement = `SELECT namespace, resource FROM baton_resources r
    WHERE ${where.join(' AND ')} ORDER BY namespace, resource LIMIT ?`
  const [rows] = await connections.query(new Packet().add(statement, ...values, query.limit + 1))
  return rows
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
