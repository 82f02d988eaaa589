import { addressOf } from '@baton-lock/store/address'
import type { Due } from '@baton-lock/store/remote'
import type { Address, Clock, Counts, ListQuery, QueueDepth } from '@baton-lock/store/store'
import type { IndexCopy } from '../cache/index-copy.ts'
import type { Etcd } from '../etcd.ts'
import { addressIn, escaped, type Keys, pathOf } from '../keys.ts'
import type { LostSession } from '../sessions/known-sessions.ts'
import type { StoredSession } from '../sessions/stored-session.ts'
import { headFrom, waitersIn } from './document.ts'
import { foundIn } from './found.ts'

const PAGE = 500

/** By name, one more than the limit where there are more. Who names a node is seen by whoever reads them: the index does not know. */
export async function find(etcd: Etcd, keys: Keys, query: ListQuery): Promise<readonly Address[]> {
  const { namespace, prefix = '', after, active, limit } = query
  const found: Address[] = []
  const { end } = keys.heads
  const within = namespace === undefined ? '' : `${escaped(namespace)}/`
  const begin = `${keys.heads.key}${within}${within === '' ? '' : escaped(prefix)}`
  const past = after === undefined ? '' : `${keys.heads.key}${pathOf(addressOf(after))}\0`
  for (let key = past > begin ? past : begin; found.length <= limit; ) {
    const range = { key, end: end!, limit: PAGE }
    const { outcomes } = await etcd.txn({ compare: [], success: [{ range }] })
    const { kvs } = foundIn(outcomes[0])
    for (const kv of kvs) {
      const address = addressIn(kv.key, keys.heads)
      if (namespace !== undefined && address.namespace !== namespace) {
        // By name, the namespace is past.
        return found
      }
      const { grants, queues } = headFrom(kv.value)
      const isMatch = address.resource.startsWith(prefix)
      if (!isMatch && within !== '') return found
      if (!isMatch || (active && grants + waitersIn({ queues }) === 0)) continue
      found.push(address)
      if (found.length > limit) break
    }
    if (kvs.length < PAGE) break
    key = `${kvs.at(-1)!.key}\0`
  }
  return found
}

interface DueOptions {
  readonly clock: Clock
  readonly limit: number
  /** When a session that is not alive may be ended. */
  readonly sessionDueMs: (session: string, lost: StoredSession & LostSession) => number
}

/** What is due, as this process counts it. */
export function dueIn(index: IndexCopy, { clock, limit, sessionDueMs }: DueOptions): Due {
  const nowMs = clock.nowMs()
  const due: { readonly address: Address; readonly atMs: number }[] = []
  let nextMs = Infinity
  let waiting = 0
  for (const { address, times, head } of index.resources) {
    waiting += waitersIn(head)
    const atMs = times.dueMs()
    if (atMs === undefined) continue
    if (atMs <= nowMs) due.push({ address, atMs })
    else nextMs = Math.min(nextMs, atMs)
  }
  const lost: string[] = []
  for (const [session, each] of index.sessions.lost()) {
    const atMs = sessionDueMs(session, each)
    if (atMs <= nowMs) lost.push(session)
    else nextMs = Math.min(nextMs, atMs)
  }
  const resources = due
    .sort((a, b) => a.atMs - b.atMs)
    .slice(0, limit)
    .map(({ address }) => address)
  const sessions = lost.slice(0, limit)
  if (resources.length === limit || sessions.length === limit) nextMs = nowMs
  return { resources, sessions, nextMs: nextMs === Infinity ? undefined : nextMs, waiting }
}

export function countsIn(index: IndexCopy): Counts {
  let grants = 0
  let waiters = 0
  for (const { head } of index.resources) {
    grants += head.grants
    waiters += waitersIn(head)
  }
  return { resources: index.resourceCount, grants, waiters, sessions: index.sessions.count }
}

export function queuesIn(index: IndexCopy): readonly QueueDepth[] {
  const depths = new Map<string, QueueDepth>()
  for (const { address, head } of index.resources) {
    for (const [operation, count] of Object.entries(head.queues)) {
      const name = JSON.stringify([address.namespace, operation])
      const waiting = (depths.get(name)?.waiting ?? 0) + count
      depths.set(name, { namespace: address.namespace, operation, waiting })
    }
  }
  return [...depths.values()]
}
