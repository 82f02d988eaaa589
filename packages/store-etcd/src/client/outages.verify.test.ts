// needs: etcd
import { type EtcdCluster, startEtcd } from '@baton-lock/faults/harness/etcd'
import { sleep } from '@baton-lock/faults/harness/link'
import { failureOf, list, nowMs, openedEtcd, put, Seen, valueAt } from '@baton-lock/test-support/etcd-world'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Etcd, EtcdError } from '../etcd.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let cluster: EtcdCluster
let leader: number
let follower: number
beforeAll(async () => {
  cluster = await startEtcd({ options: ['--unsafe-no-fsync'] })
})
afterAll(() => cluster.stop())
beforeEach(async () => {
  leader = await cluster.leader()
  follower = (leader + 1) % 3
})

/** As a crash would; it is back for the next test. */
async function kill(...indexes: readonly number[]): Promise<void> {
  const members = indexes.map((index) => cluster.members[index]!)
  onTestFinished(async () => {
    await Promise.all(members.map((member) => (member.pid === undefined ? member.restart() : undefined)))
  })
  await Promise.all(members.map((member) => member.kill()))
}

/** A client that is at this member, which may have to find its leader first. */
async function openedAt(first: number): Promise<Etcd> {
  const { endpoints } = cluster
  for (let tries = 0; ; tries++) {
    const etcd = openedEtcd(`etcd://${[...endpoints.slice(first), ...endpoints.slice(0, first)].join(',')}`)
    const error = await put(etcd, 'warm').then(() => undefined, String)
    if (error === undefined) return etcd
    if (tries === 100) throw new Error(error)
    await sleep(50)
  }
}

interface Writing {
  /** Keys whose writes were acknowledged. */
  readonly done: string[]
  readonly errors: EtcdError[]
  /** The longest time without an acknowledged write. */
  longestMs: number
}

const WRITES = 60
const LONGEST_MS = 60_000
/** Far more than it takes, on a machine that has time. */
const AWAY_MS = 15_000

/** Writes one key after the other, in the middle of which the fault comes, until it has gone well for a while after it. */
async function writing(etcd: Etcd, prefix: string, fault: () => unknown): Promise<Writing> {
  const seen: Writing = { done: [], errors: [], longestMs: 0 }
  const began = { atMs: nowMs(), fault: undefined as unknown }
  let lastMs = began.atMs
  for (let index = 0; seen.done.length < WRITES && nowMs() < began.atMs + LONGEST_MS; index++) {
    const isDone = put(etcd, `${prefix}${index}`)
    if (seen.done.length === WRITES / 2) began.fault ??= Promise.resolve(fault())
    try {
      await isDone
      seen.done.push(`${prefix}${index}`)
      seen.longestMs = Math.max(seen.longestMs, nowMs() - lastMs)
      lastMs = nowMs()
    } catch (error) {
      seen.errors.push(error as EtcdError)
      await sleep(10)
    }
  }
  await began.fault
  expect(seen.done).toHaveLength(WRITES)
  // Neither is said to have been done, nor that it would never be.
  expect(seen.errors.filter(({ kind }) => kind !== 'unknown' && kind !== 'unreachable')).toEqual([])
  return seen
}

test('a member that dies is left for another, and nothing that was acknowledged is lost', async () => {
  const etcd = await openedAt(follower)
  const seen = new Seen()
  etcd.watch({ key: 'one/' }, 0, seen)
  await seen.until(/^up to/)
  const { done, longestMs } = await writing(etcd, 'one/', () => kill(follower))
  expect(longestMs).toBeLessThan(AWAY_MS)
  expect(seen.told.at(-1)).toBe('lost')
  const there = new Set((await list(etcd, 'one/')).map(({ key }) => key))
  expect(done.filter((key) => !there.has(key))).toEqual([])
})

test('when the leader dies, it goes on with the next one', async () => {
  const etcd = await openedAt(leader)
  await etcd.grantLease(21, 30)
  const { done, longestMs } = await writing(etcd, 'two/', () => kill(leader))
  await expect.poll(() => etcd.keepAlive(21).catch(String), { timeout: AWAY_MS }).toBe(30)
  expect(longestMs).toBeLessThan(AWAY_MS)
  const there = new Set((await list(etcd, 'two/')).map(({ key }) => key))
  expect(done.filter((key) => !there.has(key))).toEqual([])
})

test('a member that stands still is left after a second by who renews a lease of two', async () => {
  const etcd = await openedAt(follower)
  await etcd.grantLease(31, 2)
  await put(etcd, 'three', 'held', 31)
  expect(await etcd.keepAlive(31)).toBe(2)
  onTestFinished(() => cluster.members[follower]!.resume())
  await cluster.members[follower]!.pause()
  const beganMs = nowMs()
  while ((await etcd.keepAlive(31).catch(() => undefined)) === undefined) await sleep(10)
  const tookMs = nowMs() - beganMs
  const value = await valueAt(etcd, 'three')
  const said = await etcd.status()
  expect(tookMs).toBeLessThan(1_900)
  expect(value).toBe('held')
  expect(said.find(({ endpoint }) => endpoint === cluster.endpoints[follower])).toEqual({
    endpoint: cluster.endpoints[follower],
    error: 'no answer within 1000 ms',
  })
  const others = said.filter(({ error }) => error === undefined)
  expect(others.map(({ version, isLeader }) => [version?.split('.')[0], isLeader])).toContainEqual(['3', true])
  expect(others.every(({ dbBytes, dbInUseBytes }) => dbBytes! >= dbInUseBytes! && dbInUseBytes! > 0)).toBe(true)
})

test('a member that the others have left behind is left, though it answers', async () => {
  const etcd = await openedAt(follower)
  onTestFinished(() => heal())
  let heal = () => {}
  const isolate = () => {
    heal = cluster.isolate(follower)
  }
  // As long as it thinks that it has a leader, it takes a write and does not answer.
  const { longestMs } = await writing(etcd, 'four/', isolate)
  expect(longestMs).toBeLessThan(AWAY_MS)
  // As this member has it, for whom that is enough.
  const alone = openedEtcd(`etcd://${cluster.endpoints[follower]}`)
  const range = { key: 'warm', serializable: true }
  expect((await alone.txn({ compare: [], success: [{ range }] })).outcomes).toMatchObject([{ range: { count: 1 } }])
  expect(await failureOf(valueAt(alone, 'warm'))).toMatchObject({
    kind: 'unreachable',
    message: `etcd at ${cluster.endpoints[follower]} could not do it: etcdserver: no leader`,
  })
})

test('without a quorum nothing is done, without anybody that is said at once, and it goes on by itself', async () => {
  const etcd = await openedAt(leader)
  await kill(...[0, 1, 2].filter((index) => index !== leader))
  // The leader takes a while to notice.
  const said: string[] = []
  while (said.length < 100 && !said.at(-1)?.endsWith('unreachable: etcdserver: no leader')) {
    const { kind, cause } = await failureOf(put(etcd, 'five', 'x'))
    said.push(`${kind}: ${cause instanceof Error ? cause.message : ''}`)
  }
  expect(said.at(-1)).toBe('unreachable: etcdserver: no leader')
  await kill(leader)
  await failureOf(put(etcd, 'five', 'x'))
  const nobody = await failureOf(put(etcd, 'five', 'x'))
  expect(nobody.kind).toBe('unreachable')
  expect(nobody.message).toMatch(
    /^etcd cannot be reached at (127\.0\.0\.1:\d+ \(ECONNREFUSED\)(, )?){3}: see that it runs/,
  )
  expect(nobody.tookMs).toBeLessThan(1_000)
  const restarting = Promise.all(cluster.members.map((member) => member.restart()))
  const beganMs = nowMs()
  while (nowMs() < beganMs + LONGEST_MS && !(await put(etcd, 'five', 'back').catch(() => undefined))) await sleep(10)
  expect(await valueAt(etcd, 'five')).toBe('back')
  await restarting
})
