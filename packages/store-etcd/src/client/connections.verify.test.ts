// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { Link, sleep } from '@baton-lock/faults/harness/link'
import { failureOf, nowMs, openedEtcd, put, Seen, valueAt } from '@baton-lock/test-support/etcd-world'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Etcd } from '../etcd.ts'

let cluster: EtcdCluster
beforeAll(async () => {
  cluster = await startEtcd({ members: 1, options: ['--unsafe-no-fsync'] })
}, 120_000)
afterAll(() => cluster.stop())

/** Two ways to the member, as if they were two members. */
let links: readonly [Link, Link]
let endpoints: readonly string[]
let etcd: Etcd
beforeEach(async () => {
  const port = cluster.members[0]!.clientPort
  links = [new Link({ port }), new Link({ port })]
  onTestFinished(() => {
    for (const link of links) link.close()
  })
  const ports = await Promise.all(links.map((link) => link.listen()))
  endpoints = ports.map((each) => `127.0.0.1:${each}`)
  etcd = openedEtcd(`etcd://${endpoints.join(',')}`)
})

describe('where no answer comes any more', () => {
  test('a write may have been done, a read may be repeated, and the next call goes another way', async () => {
    await put(etcd, 'a', 'old')
    links[0].blackhole('back')
    const calls = [failureOf(put(etcd, 'a', 'new')), failureOf(valueAt(etcd, 'a'))]
    const other = openedEtcd(`etcd://${endpoints[1]}`)
    for (let looks = 0; looks < 500 && (await valueAt(other, 'a')) !== 'new'; looks++) await sleep(5)
    links[0].reset()
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['unknown', 'unreachable'])
    expect(await valueAt(etcd, 'a')).toBe('new')
  })

  test('a call ends at its time, and the next one goes another way at once', async () => {
    await put(etcd, 'b')
    links[0].blackhole('both')
    const txn = { compare: [], success: [{ range: { key: 'b' } }] }
    const late = await failureOf(etcd.txn(txn, { timeoutMs: 300 }))
    expect(late).toMatchObject({
      kind: 'unreachable',
      message: `etcd at ${endpoints[0]} could not do it: no answer in time`,
    })
    expect(late.tookMs).toBeGreaterThan(295)
    expect(late.tookMs).toBeLessThan(1_000)
    const beganMs = nowMs()
    expect(await valueAt(etcd, 'b')).toBe('b')
    expect(nowMs() - beganMs).toBeLessThan(500)
  })

  test('without a time of its own, it is given up after two and a half seconds', async () => {
    await put(etcd, 'c')
    links[0].blackhole('there')
    const { kind, tookMs } = await failureOf(put(etcd, 'c', 'lost'))
    expect(kind).toBe('unknown')
    expect(tookMs).toBeGreaterThan(2_490)
    expect(tookMs).toBeLessThan(4_000)
  })

  test('a lease is renewed another way after a second', async () => {
    await etcd.grantLease(11, 60)
    await etcd.grantLease(12, 60)
    expect(await etcd.keepAlive(11)).toBe(60)
    links[0].blackhole('both')
    const failures = await Promise.all([11, 12, 11].map((id) => failureOf(etcd.keepAlive(id))))
    for (const { kind, tookMs } of failures) {
      expect(kind).toBe('unreachable')
      expect(tookMs).toBeLessThan(2_000)
    }
    expect(await etcd.keepAlive(11)).toBe(60)
  })

  test('a watch that does not begin is lost, and the next one begins another way', async () => {
    const { revision } = await put(etcd, 'd')
    links[0].blackhole('both')
    const [first, second] = [new Seen(), new Seen()]
    etcd.watch({ key: 'd' }, revision, first)
    await first.until('lost')
    expect(first.told).toEqual(['lost'])
    expect(first.error).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('no answer in time') })
    etcd.watch({ key: 'd' }, revision, second)
    await second.until('d=d')
  })

  test('who only watches notices by a ping', async () => {
    const { revision } = await put(etcd, 'e')
    const seen = new Seen()
    etcd.watch({ key: 'e' }, revision + 1, seen)
    await seen.until(`up to ${revision}`)
    const beganMs = nowMs()
    links[0].blackhole('both')
    for (let looks = 0; looks < 400 && !seen.error; looks++) await sleep(50)
    expect(nowMs() - beganMs).toBeLessThan(16_000)
    expect(seen.error).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('the connection was lost'),
    })
  })
})

test('whoever moves on loses watches, and keeps what was asked', async () => {
  const { revision } = await put(etcd, 'f')
  const seen = new Seen()
  etcd.watch({ key: 'f' }, revision + 1, seen)
  await seen.until(`up to ${revision}`)
  links[0].delay(100)
  const asked = put(etcd, 'f', 'asked before')
  etcd.moveOn()
  expect(seen.told).toEqual([`up to ${revision}`, 'lost'])
  expect(seen.error!.message).toContain('the connection was left for another')
  expect((await asked).succeeded).toBe(true)
  links[0].blackhole('both')
  expect(await valueAt(etcd, 'f')).toBe('asked before')
  // And back again.
  etcd.moveOn()
  links[0].heal()
  links[1].blackhole('both')
  expect(await valueAt(etcd, 'f')).toBe('asked before')
})

test('a connection that is reset is another one at the next call', async () => {
  await put(etcd, 'g')
  for (let times = 0; times < 5; times++) {
    for (const link of links) link.reset()
    await sleep(20)
    expect(await valueAt(etcd, 'g')).toBe('g')
  }
})

test('where nobody lets it in, a call fails soon and says so, and the first one after that goes well', async () => {
  await put(etcd, 'h')
  for (const link of links) {
    link.refuse()
    link.reset()
  }
  await failureOf(put(etcd, 'h', 'lost'))
  for (let times = 0; times < 20; times++) {
    const { kind, message, tookMs } = await failureOf(put(etcd, 'h', 'never'))
    expect(kind).toBe('unreachable')
    expect(message).toContain(`etcd cannot be reached at ${endpoints[0]} (`)
    expect(message).toContain(`), ${endpoints[1]} (`)
    expect(message).toContain('): see that it runs, and that the URL is right')
    expect(tookMs).toBeLessThan(500)
    await sleep(50)
  }
  for (const link of links) link.heal()
  const beganMs = nowMs()
  while (nowMs() < beganMs + 5_000 && (await put(etcd, 'h', 'back').catch(() => undefined)) === undefined)
    await sleep(5)
  expect(nowMs() - beganMs).toBeLessThan(1_000)
  expect(await valueAt(etcd, 'h')).toBe('back')
})

test('who accepts and says nothing holds nobody up for longer than a second', async () => {
  links[0].blackhole('both')
  const beganMs = nowMs()
  await put(etcd, 'i')
  expect(nowMs() - beganMs).toBeLessThan(2_000)
  links[1].blackhole('both')
  links[1].reset()
  await failureOf(put(etcd, 'i'))
  const { kind, message, tookMs } = await failureOf(put(etcd, 'i'))
  expect(kind).toBe('unreachable')
  expect(message).toContain(`${endpoints[0]} (no answer within 1000 ms)`)
  expect(tookMs).toBeLessThan(3_500)
})

test('to close takes less than a second where nobody answers, and leaves nothing behind', async () => {
  const before = process.getActiveResourcesInfo().length
  await put(etcd, 'j')
  await etcd.grantLease(13, 60)
  await etcd.keepAlive(13)
  const seen = new Seen()
  etcd.watch({ key: 'j' }, 0, seen)
  await seen.until(/^up to/)
  for (const link of links) link.blackhole('both')
  const calls = [put(etcd, 'j', 'lost'), valueAt(etcd, 'j'), etcd.keepAlive(13)].map(failureOf)
  const beganMs = nowMs()
  await etcd.close()
  expect(nowMs() - beganMs).toBeLessThan(1_000)
  expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['unknown', 'unreachable', 'unreachable'])
  expect(seen.told).toHaveLength(1)
  expect(await failureOf(put(etcd, 'j'))).toMatchObject({
    kind: 'unreachable',
    message: 'the client of etcd was closed meanwhile',
  })
  for (const link of links) link.close()
  await sleep(50)
  expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before)
})
