// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { sleep } from '@baton-lock/faults/harness/link'
import { failureOf, foundIn, list, nowMs, openedEtcd, put, Seen, valueAt } from '@baton-lock/test-support/etcd-world'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from './etcd.ts'

let cluster: EtcdCluster
let url: string
let leases = 2 ** 52
beforeAll(async () => {
  cluster = await startEtcd({ members: 1, options: ['--unsafe-no-fsync'] })
  url = cluster.url()
}, 120_000)
afterAll(() => cluster.stop())

describe('a transaction', () => {
  test('does one thing or the other, and says which', async () => {
    const etcd = openedEtcd(url)
    const create = (value: string) =>
      etcd.txn({
        compare: [{ key: 'one/a', target: 'create', is: 'equal', revision: 0 }],
        success: [{ put: { key: 'one/a', value } }],
        failure: [{ range: { key: 'one/a' } }],
      })
    const first = await create('ä 🎈')
    expect(first).toEqual({ succeeded: true, revision: expect.any(Number), outcomes: [undefined] })
    const { revision } = first
    const kv = { key: 'one/a', value: 'ä 🎈', createRevision: revision, modRevision: revision, version: 1, lease: 0 }
    expect(await create('other')).toEqual({
      succeeded: false,
      revision,
      outcomes: [{ range: { kvs: [kv], count: 1 } }],
    })
    expect((await put(etcd, 'one/a', '')).revision).toBe(revision + 1)
    expect(await list(etcd, 'one/')).toEqual([{ ...kv, value: '', modRevision: revision + 1, version: 2 }])
  })

  test('compares revisions of a key, and of all keys in a range', async () => {
    const etcd = openedEtcd(url)
    const { revision } = await put(etcd, 'two/a')
    await put(etcd, 'two/b')
    const holds = async (is: 'equal' | 'less' | 'greater', target: 'create' | 'mod', value: number, end?: string) => {
      const compare = [{ key: 'two/a', is, target, revision: value, ...(end !== undefined && { end }) }]
      return (await etcd.txn({ compare, success: [] })).succeeded
    }
    expect(await holds('equal', 'mod', revision)).toBe(true)
    expect(await holds('less', 'mod', revision)).toBe(false)
    expect(await holds('less', 'create', revision + 1)).toBe(true)
    expect(await holds('greater', 'create', revision - 1)).toBe(true)
    // Of both keys.
    expect(await holds('less', 'mod', revision + 1, 'two/z')).toBe(false)
    expect(await holds('less', 'mod', revision + 2, 'two/z')).toBe(true)
  })

  test('reads ranges: limited, counted, keys only, those that were put since, in the order of that', async () => {
    const etcd = openedEtcd(url)
    for (const key of ['three/c', 'three/a', 'three/b']) await put(etcd, key)
    const { revision } = await put(etcd, 'three/a', 'again')
    const range = { key: 'three/', end: 'three0' }
    const { outcomes } = await etcd.txn({
      compare: [],
      success: [
        { range },
        { range: { ...range, limit: 2 } },
        { range: { ...range, countOnly: true } },
        { range: { ...range, keysOnly: true, sort: 'mod' } },
        { range: { ...range, sort: 'mod', minModRevision: revision - 1 } },
        { range: { ...range, serializable: true } },
      ],
    })
    const keys = outcomes.map((outcome) => foundIn(outcome).map(({ key, value }) => `${key.slice(6)}=${value}`))
    expect(keys).toEqual([
      ['a=again', 'b=three/b', 'c=three/c'],
      ['a=again', 'b=three/b'],
      [],
      ['c=', 'b=', 'a='],
      ['b=three/b', 'a=again'],
      ['a=again', 'b=three/b', 'c=three/c'],
    ])
    expect(foundIn(outcomes[0]).map(({ version }) => version)).toEqual([2, 1, 1])
    expect(outcomes.map((outcome) => outcome && 'range' in outcome && outcome.range.count)).toEqual(Array(6).fill(3))
  })

  test('nests others, of more than 128 operations in all, and deletes', async () => {
    const etcd = openedEtcd(url)
    const puts = (from: number): Operation[] =>
      Array.from({ length: 60 }, (_, index) => ({ put: { key: `four/${from + index}`, value: 'x' } }))
    const nested: Operation[] = [0, 60, 120, 180].map((from) => ({
      txn: {
        compare: [{ key: `four/${from}`, target: 'mod', is: 'equal', revision: 0 }],
        success: [...puts(from), { range: { key: 'four/', end: 'four0', countOnly: true } }],
        failure: [{ delete: { key: `four/${from}` } }],
      },
    }))
    const result = await etcd.txn({ compare: [], success: nested })
    expect(result.outcomes).toHaveLength(4)
    const last = result.outcomes[3]!
    if (!('txn' in last)) throw new Error('not what came of a transaction')
    expect(last.txn).toMatchObject({ succeeded: true, revision: 0 })
    expect(last.txn.outcomes.at(-1)).toEqual({ range: { kvs: [], count: 240 } })
    expect((await list(etcd, 'four/')).every(({ modRevision }) => modRevision === result.revision)).toBe(true)
    await etcd.txn({ compare: [], success: nested })
    expect(await list(etcd, 'four/')).toHaveLength(236)
    await etcd.txn({ compare: [], success: [{ delete: { key: 'four/', end: 'four0' } }] })
    expect(await list(etcd, 'four/')).toEqual([])
  })

  test('of more operations than etcd takes goes there in transactions within it, and what came of them comes back in order', async () => {
    const etcd = openedEtcd(url)
    const keys = Array.from({ length: 2_000 }, (_, index) => `many/${index}`)
    await etcd.txn({ compare: [], success: keys.map((key) => ({ put: { key, value: key } })) })
    const { outcomes } = await etcd.txn({ compare: [], success: keys.map((key) => ({ range: { key } })) })
    const values = outcomes.map((each) => (each && 'range' in each ? each.range.kvs[0]?.value : undefined))
    expect(values).toEqual(keys)
  })

  test('of a megabyte goes there and comes back', async () => {
    const etcd = openedEtcd(url)
    const value = 'ß'.repeat(500_000)
    await put(etcd, 'five', value)
    expect(await valueAt(etcd, 'five')).toBe(value)
  })

  test('that etcd would never do is refused', async () => {
    const etcd = openedEtcd(url)
    const same = { put: { key: 'six', value: '' } }
    const comparison = { key: 'six', target: 'mod', is: 'equal', revision: 0 } as const
    const refusals = [
      [() => etcd.txn({ compare: [], success: [same, same] }), 'duplicate key given in txn request'],
      [() => etcd.txn({ compare: Array(129).fill(comparison), success: [] }), 'too many operations in txn request'],
      [() => put(etcd, 'six', 'x'.repeat(1_600_000)), 'request is too large'],
      [() => put(etcd, 'six', 'x'.repeat(3_000_000)), 'larger than max'],
      [() => put(etcd, ''), 'key is not provided'],
    ] as const
    for (const [call, sentence] of refusals) {
      const { kind, message } = await failureOf(call())
      expect({ kind, message }).toEqual({ kind: 'refused', message: expect.stringContaining(sentence) })
    }
    expect(await list(etcd, 'six')).toEqual([])
  })

  test('hundreds at once all come back with their own answer', async () => {
    const etcd = openedEtcd(url)
    const keys = Array.from({ length: 300 }, (_, index) => `seven/${index}`)
    // The machine may have other things to do.
    const patient = { timeoutMs: 20_000 }
    await Promise.all(keys.map((key) => etcd.txn({ compare: [], success: [{ put: { key, value: key } }] }, patient)))
    const reads = keys.map((key) => etcd.txn({ compare: [], success: [{ range: { key } }] }, patient))
    expect((await Promise.all(reads)).map(({ outcomes }) => foundIn(outcomes[0])[0]?.value)).toEqual(keys)
  })
})

test('a process that has stood still takes the answers that came meanwhile', async () => {
  const etcd = openedEtcd(url)
  const id = ++leases
  await etcd.grantLease(id, 60)
  expect(await etcd.keepAlive(id)).toBe(60)
  const calls = Promise.all([put(etcd, 'eight'), valueAt(etcd, 'seven/1'), etcd.keepAlive(id)])
  // For longer than an answer may take.
  const endMs = nowMs() + 3_000
  while (nowMs() < endMs);
  expect(await calls).toMatchObject([{ succeeded: true }, 'seven/1', 60])
})

describe('a lease', () => {
  test('takes its keys along when it is revoked', async () => {
    const etcd = openedEtcd(url)
    const id = ++leases
    await etcd.grantLease(id, 60)
    await put(etcd, 'lease/a', 'a', id)
    expect((await list(etcd, 'lease/a'))[0]!.lease).toBe(id)
    expect(await etcd.leaseTimes(id)).toEqual({ leftS: expect.closeTo(59, -1), ttlS: 60 })
    expect(await etcd.revokeLease(id)).toBe(true)
    expect(await list(etcd, 'lease/a')).toEqual([])
    expect(await etcd.revokeLease(id)).toBe(false)
    expect(await etcd.leaseTimes(id)).toBeUndefined()
    expect(await etcd.keepAlive(id)).toBe(0)
  })

  test('that is not there is told apart from other refusals, and so is an id that is taken', async () => {
    const etcd = openedEtcd(url)
    const missing = await failureOf(put(etcd, 'lease/b', 'b', ++leases))
    expect(missing).toMatchObject({ kind: 'refused', isNoLease: true, isLeaseTaken: false })
    const id = ++leases
    await etcd.grantLease(id, 60)
    const taken = await failureOf(etcd.grantLease(id, 60))
    expect(taken).toMatchObject({ kind: 'refused', isNoLease: false, isLeaseTaken: true })
  })

  test('lives as long as it is renewed, and takes its keys along when it ends', async () => {
    const etcd = openedEtcd(url)
    const id = ++leases
    await etcd.grantLease(id, 2)
    await put(etcd, 'lease/c', 'c', id)
    const seen = new Seen()
    etcd.watch({ key: 'lease/c' }, 0, seen)
    const beganMs = nowMs()
    while (nowMs() < beganMs + 4_000) {
      expect(await etcd.keepAlive(id)).toBe(2)
      await sleep(400)
    }
    expect(seen.told.slice(1)).toEqual([])
    await seen.until('-lease/c')
    expect(await etcd.keepAlive(id)).toBe(0)
  })

  test('renewals of many at once go over one stream, and each gets its own answer', async () => {
    const etcd = openedEtcd(url)
    const ids = Array.from({ length: 100 }, () => ++leases)
    await Promise.all(ids.map((id, index) => etcd.grantLease(id, 10 + index)))
    const missing = ids.map((id) => id + 1_000_000)
    const ttls = await Promise.all([...ids, ...missing, ...ids].map((id) => etcd.keepAlive(id)))
    const expected = ids.map((_, index) => 10 + index)
    expect(ttls).toEqual([...expected, ...missing.map(() => 0), ...expected])
  })
})
