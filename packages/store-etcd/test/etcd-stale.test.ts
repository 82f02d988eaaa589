// needs: etcd
// What a process believes of others may be old: its watch is late or deaf. Its commits say so, and it goes on with what is so.

import type { Acquire } from '@baton-lock/core'
import { becomes } from '@baton-lock/store/conformance/eventually'
import { etcdOfFile } from '@baton-lock/test-support/etcd-world'
import { expect, test } from 'vitest'
import { Copy } from '../src/cache/copies.ts'
import type { Etcd, Found, RangeOptions, Watched } from '../src/etcd.ts'

const { open } = etcdOfFile({ members: 1 })

const at = { namespace: 'default', resource: 'r' }
const ask = (owner: string, more: Partial<Acquire> = {}): Acquire => ({
  type: 'acquire',
  operation: 'lock',
  node: owner,
  owner,
  hold: owner,
  ttlMs: 30_000,
  ...more,
})
const release = (owner: string, fence: number, more = {}) =>
  ({ type: 'release', operation: 'lock', owner, hold: owner, fence, outcome: 'success', ...more }) as const
const fenceOf = (reply: object) => (reply as { fence: number }).fence

function foundAt(copy: Copy, range: RangeOptions): Found {
  const { kvs, count } = copy.find(range)!
  return { kvs: kvs.filter(({ modRevision }) => modRevision >= (range.minModRevision ?? 0)), count }
}

/** Reads of the member at hand can be answered as it was when all that there was had been read: one that is behind. */
function lagging() {
  const member: { behind: { readonly copy: Copy; readonly revision: number } | undefined } = { behind: undefined }
  const around = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: async (txn, options) => {
      const { behind } = member
      const isLocal = txn.success.every((each) => 'range' in each && each.range.serializable)
      if (!behind || txn.compare.length > 0 || !isLocal) return etcd.txn(txn, options)
      const outcomes = txn.success.map((each) => ({
        range: foundAt(behind.copy, (each as { range: RangeOptions }).range),
      }))
      return { succeeded: true, revision: behind.revision, outcomes }
    },
  })
  /** From now on it is as it is now. */
  const fallBehind = async (etcd: Etcd) => {
    const everything = { key: '\0', end: '\u{10ffff}' }
    const { outcomes, revision } = await etcd.txn({ compare: [], success: [{ range: everything }] })
    const { kvs } = (outcomes[0] as { range: Found }).range
    member.behind = { copy: Copy.of(kvs, [everything], { modRevision: revision, inVain: 0 }), revision }
  }
  return { around, fallBehind }
}

/** One that can be made deaf to the index, and counts its commits. */
function listening() {
  const ear = { isDeaf: false, commits: 0 }
  const around = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: (txn, options) => {
      if (txn.compare.length > 0) ear.commits++
      return etcd.txn(txn, options)
    },
    watch: (keys, from, watched) => etcd.watch(keys, from, keys.key.endsWith('/index/') ? deafened(watched) : watched),
  })
  const deafened = (watched: Watched): Watched => ({
    progress: (revision) => ear.isDeaf || watched.progress(revision),
    events: (events, revision) => ear.isDeaf || watched.events(events, revision),
    ended: (why, error) => watched.ended(why, error),
  })
  return { ear, around }
}

test('a waiter whose session has moved is told where it is, by a process that has not heard of that', async () => {
  const { ear, around } = listening()
  const [a, b, c] = [await open(), await open(), await open(around)]
  await a.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  const fence = fenceOf(await c.step(at, ask('holder')))
  expect((await a.step(at, ask('waiter', { session: 's' }))).status).toBe('queued')
  await c.counts()
  ear.isDeaf = true
  const heard: string[] = []
  b.subscribe(({ event }) => heard.push(event.type))
  await b.renewSession('s')
  ear.commits = 0
  expect((await c.step(at, release('holder', fence))).status).toBe('released')
  expect(ear.commits).toBeLessThan(6)
  expect((await b.step(at, ask('waiter', { session: 's' }))).status).toBe('granted')
  expect(heard).toContain('granted')
})

test('what another process has changed in parts is read anew by one that has not heard of that', async () => {
  const { ear, around } = listening()
  const [a, b] = [await open(around), await open()]
  const result = { digest: 'x'.repeat(300_000) }
  const pulled = fenceOf(await a.step(at, ask('holder', { operation: 'pull' })))
  await a.step(at, release('holder', pulled, { operation: 'pull', result }))
  await a.step(at, release('one', fenceOf(await a.step(at, ask('one')))))
  await a.counts()
  ear.isDeaf = true
  await b.step(at, release('two', fenceOf(await b.step(at, ask('two')))))
  ear.commits = 0
  expect((await a.step(at, ask('three'))).status).toBe('granted')
  expect(ear.commits).toBeLessThan(6)
})

test('a session that moves is in the way of what it is told of, and of nothing else', async () => {
  let before: (() => Promise<unknown>) | undefined
  let commits = 0
  const interrupted = (etcd: Etcd): Etcd => ({
    ...etcd,
    txn: async (txn, options) => {
      if (txn.compare.length > 0) {
        const move = before
        before = undefined
        await move?.()
        commits++
      }
      return etcd.txn(txn, options)
    },
  })
  const [a, b] = [await open(interrupted), await open()]
  for (const session of ['waiting', 'other']) await a.openSession({ session, node: 'a', ttlMs: 60_000 })
  const fence = fenceOf(await a.step(at, ask('holder')))
  expect((await a.step(at, ask('waiter', { session: 'waiting' }))).status).toBe('queued')
  await a.counts()
  const heard: string[] = []
  b.subscribe(({ event }) => heard.push(event.type))
  const elsewhere = { ...at, resource: 'elsewhere' }
  commits = 0
  before = () => b.renewSession('other')
  expect((await a.step(elsewhere, ask('one'))).status).toBe('granted')
  expect(commits).toBe(1)
  before = () => b.renewSession('waiting')
  commits = 0
  expect((await a.step(at, release('holder', fence))).status).toBe('released')
  expect(commits).toBeGreaterThan(1)
  await becomes(() => heard.includes('granted'))
})

test('whom a large commit has told to skip is told so again, though a member is read that has not all of it yet', async () => {
  const { around, fallBehind } = lagging()
  let isOver = false
  const a = await open((etcd) => {
    const reading = around(etcd)
    return {
      ...reading,
      // Just before what did not fit into the commit is carried out.
      txn: async (txn, options) => {
        if (!isOver && txn.compare.some(({ key }) => /\/journal\/[^/]+\/\d+$/.test(key))) {
          isOver = true
          await fallBehind(etcd)
        }
        return reading.txn(txn, options)
      },
    }
  })
  await a.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  const once = { operation: 'once', session: 's' }
  const fence = fenceOf(await a.step(at, ask('holder', once)))
  // By their names, the commit that takes them out of the line is too large for one request.
  const waiting = Array.from({ length: 600 }, (_, place) => `w${place}`.padEnd(500, '.'))
  await Promise.all(waiting.map((owner) => a.step(at, ask(owner, once))))
  await a.step(at, release('holder', fence, { operation: 'once' }))
  await becomes(() => isOver)
  expect((await a.read(at))?.waiting).toBe(0)
  expect(await a.step(at, ask(waiting[5]!, once))).toMatchObject({ status: 'skip', fence })
})
