// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { sleep } from '@baton-lock/faults/harness/link'
import { failureOf, openedEtcd, put, Seen } from '@baton-lock/test-support/etcd-world'
import { afterAll, beforeAll, expect, test } from 'vitest'

let cluster: EtcdCluster
let url: string
const progressMs = 500
beforeAll(async () => {
  const options = ['--unsafe-no-fsync', `--experimental-watch-progress-notify-interval=${progressMs}ms`]
  cluster = await startEtcd({ members: 1, options })
  url = cluster.url()
}, 120_000)
afterAll(() => cluster.stop())

/** How many watchers the member has, by its own count. */
async function watchers(): Promise<number> {
  const text = await (await fetch(`http://${cluster.endpoints[0]}/metrics`)).text()
  return Number(/^etcd_debugging_mvcc_watcher_total (\d+)/m.exec(text)![1])
}

test('tells of each change from a revision on, and of none before', async () => {
  const etcd = openedEtcd(url)
  await put(etcd, 'a/0')
  const { revision } = await put(etcd, 'a/1')
  await put(etcd, 'a/2')
  const seen = new Seen()
  etcd.watch({ key: 'a/', end: 'a0' }, revision, seen)
  await seen.until('a/2=a/2')
  await put(etcd, 'b')
  await etcd.txn({ compare: [], success: [{ delete: { key: 'a/0' } }, { put: { key: 'a/1', value: 'new' } }] })
  await seen.until('a/1=new')
  const told = seen.told.filter((text) => !text.startsWith('up to'))
  expect(seen.told[0]).toBe(`up to ${revision - 1}`)
  expect(told).toEqual(['a/1=a/1', 'a/2=a/2', '-a/0', 'a/1=new'])
  // What was changed at once is told at once.
  expect(seen.responses.at(-1)!.map(({ kv }) => kv.modRevision)).toEqual([revision + 3, revision + 3])
})

test('says that it has begun, and now and then that it is still there', async () => {
  const etcd = openedEtcd(url)
  const { revision } = await put(etcd, 'c')
  const seen = new Seen()
  etcd.watch({ key: 'd' }, 0, seen)
  await seen.until(`up to ${revision}`)
  await put(etcd, 'c')
  await seen.until(`up to ${revision + 1}`)
})

test('a revision of many megabytes comes in one piece', async () => {
  const etcd = openedEtcd(url)
  const lease = 12_345
  await etcd.grantLease(lease, 600)
  const seen = new Seen()
  const keys = Array.from({ length: 12 }, (_, index) => `big/${'k'.repeat(400_000)}${index}`)
  for (const key of keys) await put(etcd, key, '', lease)
  const { revision } = await put(etcd, 'e')
  etcd.watch({ key: 'big/', end: 'big0' }, revision + 1, seen)
  await seen.until(`up to ${revision}`)
  // Each of the deletions tells its key: more than fits into one response.
  await etcd.revokeLease(lease)
  await seen.until(`-${keys[0]}`)
  expect(seen.responses.map((events) => events.length)).toEqual([12])
})

test('what is forgotten already is not watched for: it ends, at the beginning or in the middle', async () => {
  const etcd = openedEtcd(url)
  const { revision } = await put(etcd, 'f')
  await put(etcd, 'f')
  await etcd.compact(revision + 1)
  const seen = new Seen()
  etcd.watch({ key: 'f' }, revision, seen)
  await seen.until('compacted')
  expect(seen.error).toMatchObject({ kind: 'compacted' })
  expect(seen.told).toEqual([`up to ${revision - 1}`, 'compacted'])
  expect(await failureOf(etcd.compact(revision))).toMatchObject({ kind: 'compacted' })
  expect(await failureOf(etcd.compact(revision + 1_000))).toMatchObject({ kind: 'refused' })
})

test('one that is cancelled tells nothing more, and is none any more at the member', async () => {
  const etcd = openedEtcd(url)
  const { revision } = await put(etcd, 'g')
  const before = await watchers()
  const [first, second] = [new Seen(), new Seen()]
  const cancel = etcd.watch({ key: 'g' }, revision + 1, first)
  await first.until(`up to ${revision}`)
  // Cancelled before it has begun.
  etcd.watch({ key: 'g' }, revision + 1, second)()
  expect(await watchers()).toBeGreaterThan(before)
  cancel()
  cancel()
  for (let looks = 0; looks < 400 && (await watchers()) > before; looks++) await sleep(5)
  expect(await watchers()).toBe(before)
  await put(etcd, 'g', 'unseen')
  await etcd.close()
  expect(first.told).toEqual([`up to ${revision}`])
  expect(second.told).toEqual([])
})

test('all that a client watches ends with it, and is not told', async () => {
  const etcd = openedEtcd(url)
  const { revision } = await put(etcd, 'h')
  const before = await watchers()
  const seen = new Seen()
  etcd.watch({ key: 'h' }, revision + 1, seen)
  await seen.until(`up to ${revision}`)
  await etcd.close()
  expect(seen.told).toEqual([`up to ${revision}`])
  expect(await watchers()).toBe(before)
  // A watch of a client that was closed has no other way to say so.
  etcd.watch({ key: 'h' }, 1, seen)
  await seen.until('lost')
  expect(seen.error).toMatchObject({ kind: 'unreachable', message: 'the client of etcd was closed meanwhile' })
})
