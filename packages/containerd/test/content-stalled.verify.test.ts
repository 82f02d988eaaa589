// needs: containerd, mergerfs, mount
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestOf } from '@baton-lock/faults/content/image'
import { pauseProcess, startProcess } from '@baton-lock/test-support/processes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { ContentClient } from './content-client.ts'
import { contentStage, saidBy, untilTold, watched, withinMs } from './content-stage.ts'

/** What each does without a lock server; the host of `tiny` is a disk of 2 MB. */
const WITHOUT_LOCK: Readonly<Record<string, string>> = { b: 'fail', c: 'wait' }
const NAMES = ['a', 'b', 'c', 'tiny']
const stage = contentStage({
  names: NAMES,
  started: ['a', 'b', 'c'],
  hasContainerd: false,
  settings: (name) => (WITHOUT_LOCK[name] ? `when_unavailable = "${WITHOUT_LOCK[name]}"` : ''),
})
/** No call of containerd's takes longer, but the second STAT. */
const AT_ONCE_MS = 1_000
let clients: ReadonlyMap<string, ContentClient>
const of = (name: string) => clients.get(name)!

beforeAll(() => {
  clients = new Map(NAMES.map((name) => [name, new ContentClient(stage.node(name).socket)]))
})

afterAll(() => {
  for (const client of clients.values()) client.close()
})

test('a lock server that does not answer holds nobody up but the second STAT, which does as configured', async () => {
  const { cluster, baton } = stage
  const [a, b, c] = [of('a'), of('b'), of('c')]
  const [shared, held, begun] = [blob(), blob(), blob()]
  await a.put(shared.ref, shared.bytes)
  await b.put(shared.ref, shared.bytes)
  const holder = await granted(a, held)
  const waiter = b.writer(held.ref, held.bytes.length)
  await waiter.stat()
  void waiter.stat()
  await until('b waits', async () => (await baton.waiters(held.digest)).length === 1)
  const writer = await granted(a, begun)
  await writer.write(0, begun.bytes)

  const [mine, refused, patient] = [blob(), blob(), blob()]
  let waiting: ReturnType<typeof watched>
  let uncoordinated: ReturnType<ContentClient['writer']>
  await pauseProcess(cluster.serverPid!)
  try {
    expect(await withinMs(AT_ONCE_MS, a.info(shared.digest))).toMatchObject({ size: shared.bytes.length })
    expect(await withinMs(AT_ONCE_MS, b.list())).toContain(shared.digest)
    expect(await withinMs(AT_ONCE_MS, b.read(shared.digest))).toEqual(shared.bytes)
    await withinMs(AT_ONCE_MS, b.delete(shared.digest))
    await withinMs(AT_ONCE_MS, b.abort(held.ref))
    await withinMs(AT_ONCE_MS, a.abort(held.ref))
    await expect(holder.write(0, held.bytes)).rejects.toThrow()
    expect(await withinMs(AT_ONCE_MS, writer.commit({ offset: begun.bytes.length }))).toMatchObject(begun.committed)

    uncoordinated = await opened(a, mine)
    const failing = await opened(b, refused)
    const staying = await opened(c, patient)
    waiting = watched(staying.stat())
    const failure = expect(failing.stat()).rejects.toThrow('UNAVAILABLE: no lock server answers')
    const startMs = Date.now()
    expect(await uncoordinated.stat()).toMatchObject({ offset: 0 })
    expect(Date.now() - startMs).toBeGreaterThan(4_000)
    expect(Date.now() - startMs).toBeLessThan(10_000)
    await failure
    await uncoordinated.write(0, mine.bytes)
    expect(await withinMs(AT_ONCE_MS, uncoordinated.commit({ offset: mine.bytes.length }))).toMatchObject(
      mine.committed,
    )
    expect(waiting.isOver).toBe(false)
  } finally {
    process.kill(cluster.serverPid!, 'SIGCONT')
  }
  expect(await waiting.over).toMatchObject({ offset: 0 })
  for (const name of ['a', 'b', 'c']) await untilTold(stage.node(name))
  expect(await baton.references.list(mine.digest)).toEqual(['a'])
  expect(await baton.references.list(begun.digest)).toEqual(['a'])
  expect(await baton.references.list(shared.digest)).toEqual(['a'])
  expect((await baton.status(held.digest)).grants).toEqual([])
}, 40_000)

test('a union that does not answer holds nobody up: files that were read through it are closed beside it', async () => {
  const [a, b] = [of('a'), of('b')]
  const node = stage.node('b')
  const adopted = Array.from({ length: 8 }, () => blob())
  for (const each of adopted) {
    await a.put(each.ref, each.bytes)
    await b.put(each.ref, each.bytes)
    expect(await b.read(each.digest)).toEqual(each.bytes)
  }
  const [own, fresh] = [blob(), blob()]
  await b.put(own.ref, own.bytes)
  const unread = blob()
  await a.put(unread.ref, unread.bytes)
  await b.put(unread.ref, unread.bytes)
  const pid = node.unionPid!
  await pauseProcess(pid)
  try {
    await expect(withinMs(AT_ONCE_MS, b.read(unread.digest))).rejects.toThrow('UNAVAILABLE')
    for (const { digest } of adopted.slice(0, 6)) await withinMs(AT_ONCE_MS, b.delete(digest))
    expect(await withinMs(AT_ONCE_MS, b.info(own.digest))).toMatchObject({ size: own.bytes.length })
    expect(await withinMs(AT_ONCE_MS, b.list())).toContain(unread.digest)
    expect(await withinMs(AT_ONCE_MS, b.read(own.digest))).toEqual(own.bytes)
    const writer = await opened(b, fresh)
    await withinMs(AT_ONCE_MS, b.abort(fresh.ref))
    await expect(writer.write(0, fresh.bytes)).rejects.toThrow()
    // What an earlier claim has left is still there, and no concern of this one.
    expect((await withinMs(AT_ONCE_MS, b.statuses())).map(({ ref }) => ref)).not.toContain(fresh.ref)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  const answer = await until('it answers again', () => b.read(unread.digest).catch(() => undefined))
  expect(answer).toEqual(unread.bytes)
  const last = adopted.at(-1)!
  expect(await b.read(last.digest)).toEqual(last.bytes)
}, 40_000)

test('a union that ends is mounted again, also that of a process before', async () => {
  const [a, b] = [of('a'), of('b')]
  const node = stage.node('b')
  for (const isInherited of [false, true]) {
    if (isInherited) {
      const before = node.unionPid
      await node.killStore()
      await node.startStore()
      expect(node.unionPid).toBe(before)
    }
    const before = node.unionPid!
    process.kill(before, 'SIGKILL')
    const each = blob()
    await a.put(each.ref, each.bytes)
    // UNAVAILABLE until then: containerd tries again.
    const put = await until('it is mounted again', () => b.put(each.ref, each.bytes).catch(() => undefined))
    expect(put).toMatchObject(each.committed)
    expect(node.unionPid).not.toBe(before)
    expect(await b.read(each.digest)).toEqual(each.bytes)
  }
}, 40_000)

test('a disk that is full is RESOURCE_EXHAUSTED, the next node takes over, and there is no blob half written', async () => {
  const { root } = stage.node('tiny')
  const host = join(root, 'host')
  mkdirSync(host, { recursive: true })
  const mounted = await startProcess('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', host]).ended
  if (mounted.code !== 0) throw new Error(`this test mounts a tmpfs, which needs root: ${mounted.stderr}`)
  await stage.node('tiny').startStore()
  const [tiny, a] = [of('tiny'), of('a')]
  const big = blob(4 << 20)
  const writer = await granted(tiny, big)
  const next = await opened(a, big)
  const waiting = next.stat()
  await until('a waits', async () => (await stage.baton.waiters(big.digest)).length === 1)
  await writer.write(0, big.bytes.subarray(0, 1 << 20))
  await expect(writer.write(1 << 20, big.bytes.subarray(1 << 20))).rejects.toThrow(/^RESOURCE_EXHAUSTED: .* is full/)
  expect(await withinMs(AT_ONCE_MS, waiting)).toMatchObject({ offset: 0 })
  await next.write(0, big.bytes)
  expect(await next.commit({ offset: big.bytes.length })).toMatchObject(big.committed)
  await saidBy(stage.node('tiny'), 'is full; make room there')

  // Brimful: nothing at all can be written.
  const small = blob(50_000)
  await startProcess('sh', ['-c', `cat /dev/zero > ${join(host, 'filler')}`]).ended
  await expect(tiny.put(small.ref, small.bytes)).rejects.toThrow('RESOURCE_EXHAUSTED')
  await expect(tiny.put(`x/2/layer-${big.digest}`, big.bytes)).rejects.toThrow('RESOURCE_EXHAUSTED')
  writeFileSync(join(host, 'filler'), '')
  await tiny.abort(big.ref)
  expect(await tiny.put(big.ref, big.bytes)).toMatchObject(big.committed)
  expect(digestOf(await tiny.read(big.digest))).toBe(big.digest)
  expect(stage.node('tiny').hostBlobs()).toEqual([])
}, 40_000)

function blob(size = 10_000) {
  const bytes = randomBytes(size)
  const digest = digestOf(bytes)
  return { bytes, digest, ref: `default/1/layer-${digest}`, committed: { offset: size, digest } }
}

/** After its first STAT, which is never held up. */
async function opened(client: ContentClient, { ref, bytes }: ReturnType<typeof blob>) {
  const writer = client.writer(ref, bytes.length)
  await withinMs(AT_ONCE_MS, writer.stat())
  return writer
}

/** After its second STAT: it may write. */
async function granted(client: ContentClient, asked: ReturnType<typeof blob>) {
  const writer = await opened(client, asked)
  expect(await writer.stat()).toMatchObject({ offset: 0 })
  return writer
}
