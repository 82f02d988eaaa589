// needs: etcd
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type EtcdCluster, startEtcd } from './etcd.ts'
import type { EtcdMember } from './etcd-member.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

interface Found {
  readonly kvs?: readonly { readonly value: string }[]
}

async function started(members = 3): Promise<EtcdCluster> {
  const etcd = await startEtcd({ members })
  onTestFinished(() => etcd.stop())
  return etcd
}

function put(member: EtcdMember, text: string): Promise<unknown> {
  return member.call('/v3/kv/put', { key: base64('key'), value: base64(text) })
}

/** As a client would, at the address that clients know. */
async function get(endpoint: string, { isSerializable = false } = {}): Promise<string | undefined> {
  const body = JSON.stringify({ key: base64('key'), serializable: isSerializable })
  const signal = AbortSignal.timeout(2_000)
  const response = await fetch(`http://${endpoint}/v3/kv/range`, { method: 'POST', body, signal })
  const found = (await response.json()) as Found
  return found.kvs?.[0] && Buffer.from(found.kvs[0].value, 'base64').toString()
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a throw-away etcd keeps its data through the death of its leader, is found where it was, and leaves nothing', async () => {
  const etcd = await started()
  expect(etcd.url('some/')).toBe(`etcd://${etcd.endpoints.join(',')}/some/`)
  const first = await etcd.leader()
  const [leader, endpoint] = [etcd.members[first]!, etcd.endpoints[first]!]
  await put(leader, 'one')
  const pid = leader.pid!
  await leader.kill()
  expect(isRunning(pid)).toBe(false)
  const second = await etcd.leader()
  expect(second).not.toBe(first)
  await put(etcd.members[second]!, 'two')

  await leader.restart()
  expect(leader.pid).not.toBe(pid)
  expect(await get(endpoint)).toBe('two')

  const pids = etcd.members.map((member) => member.pid!)
  await etcd.stop()
  expect(pids.filter(isRunning)).toEqual([])
  expect(existsSync(dirname(leader.log))).toBe(false)
})

test('a leader that is cut off from the others is followed by another, and clients still reach it', async () => {
  const etcd = await started()
  const cut = await etcd.leader()
  await put(etcd.members[cut]!, 'before')
  const heal = etcd.isolate(cut)
  await expect.poll(() => etcd.leader(), { timeout: 10_000 }).not.toBe(cut)
  await put(etcd.members[await etcd.leader()]!, 'after')
  expect(await get(etcd.endpoints[cut]!, { isSerializable: true })).toBe('before')
  await expect(put(etcd.members[cut]!, 'never')).rejects.toThrow()
  heal()
  expect(await etcd.members[cut]!.isReady()).toBe(true)
  expect(await get(etcd.endpoints[cut]!)).toBe('after')
})

test('a member that is cut off stays so while another is healed', async () => {
  const etcd = await started()
  const leader = await etcd.leader()
  const [one, other] = [0, 1, 2].filter((index) => index !== leader) as [number, number]
  const heal = etcd.isolate(one)
  const healOther = etcd.isolate(other)
  await expect(put(etcd.members[leader]!, 'no quorum')).rejects.toThrow()
  healOther()
  expect(await etcd.members[other]!.isReady()).toBe(true)
  await put(etcd.members[other]!, 'two of three')
  await expect(get(etcd.endpoints[one]!)).rejects.toThrow()
  heal()
  expect(await etcd.members[one]!.isReady()).toBe(true)
  expect(await get(etcd.endpoints[one]!)).toBe('two of three')
})

test('members that speak with one another directly are as good, but that none can be cut off', async () => {
  const etcd = await startEtcd({ canIsolate: false })
  onTestFinished(() => etcd.stop())
  const leader = await etcd.leader()
  await put(etcd.members[(leader + 1) % 3]!, 'by another')
  expect(await get(etcd.endpoints[leader]!)).toBe('by another')
  expect(() => etcd.isolate(leader)).toThrow('without a network that can be cut')
})

test('while a member is stopped it answers nothing, and then it does', async () => {
  const etcd = await started(1)
  const [only] = etcd.members as [EtcdMember]
  await put(only, 'kept')
  await only.pause()
  const answer = get(etcd.endpoints[0]!)
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(() => resolve('nothing'), 300))])
  expect(early).toBe('nothing')
  only.resume()
  expect(await answer).toBe('kept')
})

test('what was before a compaction is forgotten', async () => {
  const etcd = await started(1)
  for (const text of ['one', 'two']) await put(etcd.members[0]!, text)
  const revision = await etcd.compact()
  expect(await etcd.compact()).toBe(revision)
  const past = etcd.call('/v3/kv/range', { key: base64('key'), revision: revision - 1 })
  await expect(past).rejects.toThrow('compacted')
  expect(await get(etcd.endpoints[0]!)).toBe('two')
})
