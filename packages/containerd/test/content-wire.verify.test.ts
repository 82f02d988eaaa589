// needs: containerd, mergerfs, mount
import { randomBytes } from 'node:crypto'
import { digestOf } from '@baton-lock/faults/content/image'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../test/e2e/cli-process.ts'
import { ContentClient } from './content-client.ts'
import { contentStage, watched, withinMs } from './content-stage.ts'

const stage = contentStage({ names: ['a', 'b'], hasContainerd: false })
let a: ContentClient
let b: ContentClient

beforeAll(() => {
  a = new ContentClient(stage.node('a').socket)
  b = new ContentClient(stage.node('b').socket)
})

afterAll(() => {
  a.close()
  b.close()
})

test('the first STAT is answered at once while another node has the pull; the second one waits, and finds it', async () => {
  const { bytes, digest, ref } = blob()
  const first = a.writer(ref, bytes.length)
  await first.stat()
  expect(await first.stat()).toMatchObject({ offset: 0, total: bytes.length })
  await first.write(0, bytes.subarray(0, 1_000))

  const second = b.writer(ref, bytes.length)
  expect(await withinMs(1_000, second.stat())).toMatchObject({ offset: 0, total: bytes.length })
  const waiting = watched(second.stat())
  await untilWaiting(digest, 'b')
  expect(waiting.isOver).toBe(false)
  // Offset 0: what stands still anywhere else is given up by containerd.
  expect(await b.status(ref)).toMatchObject({ ref, offset: 0, total: bytes.length })
  expect((await b.statuses()).map((each) => each.ref)).toContain(ref)
  // Nothing is in `blobs` before it is whole.
  expect(stage.node('a').hostBlobs()).not.toContain(digest)

  await first.write(1_000, bytes.subarray(1_000))
  expect(await first.commit({ offset: bytes.length, expected: digest })).toMatchObject({ offset: bytes.length, digest })
  expect(await waiting.over).toMatchObject({ offset: bytes.length })
  // Skipped: its COMMIT has offset 0, and that is no truncation.
  expect(await second.commit({ offset: 0, expected: digest })).toMatchObject({ offset: bytes.length, digest })
  for (const client of [a, b]) expect(await client.read(digest)).toEqual(bytes)
  expect(stage.node('b').hostBlobs()).not.toContain(digest)
})

test('a blob that appears after Info has said no is found by the first wait, and again by whoever asks again', async () => {
  const { bytes, digest, ref } = blob()
  await expect(b.info(digest)).rejects.toThrow('NOT_FOUND')
  await a.put(ref, bytes)
  await expect(b.info(digest)).rejects.toThrow('NOT_FOUND')
  expect(await b.list()).not.toContain(digest)
  await expect(b.read(digest)).rejects.toThrow('NOT_FOUND')
  for (const again of ['default/1', 'default/2']) {
    // Never ALREADY_EXISTS, which breaks a pull.
    expect(await b.put(`${again}/layer-${digest}`, bytes)).toMatchObject({ offset: bytes.length, digest })
  }
  expect(await b.info(digest)).toMatchObject({ digest, size: bytes.length })
  expect(await b.list()).toContain(digest)
  expect(await a.put(`default/3/layer-${digest}`, bytes)).toMatchObject({ digest })
})

test('a second stream on the same ref is UNAVAILABLE, and the first one goes on', async () => {
  const { bytes, digest, ref } = blob()
  const first = a.writer(ref, bytes.length)
  await first.stat()
  await expect(a.writer(ref, bytes.length).stat()).rejects.toThrow('UNAVAILABLE')
  await first.stat()
  await first.write(0, bytes)
  expect(await first.commit({ offset: bytes.length })).toMatchObject({ digest })
})

test('two refs of one blob on one node, as of two namespaces: the second one waits for the first', async () => {
  const { bytes, digest, ref } = blob()
  const first = a.writer(ref, bytes.length)
  await first.stat()
  await first.stat()
  const second = a.writer(`other/1/layer-${digest}`, bytes.length)
  await second.stat()
  const waiting = watched(second.stat())
  await first.write(0, bytes)
  expect(waiting.isOver).toBe(false)
  await first.commit({ offset: bytes.length })
  expect(await waiting.over).toMatchObject({ offset: bytes.length })
  expect(await second.commit({ offset: 0 })).toMatchObject({ offset: bytes.length, digest })
})

test('a ref without a digest is written without coordination, and has its digest in the end', async () => {
  const { bytes, digest } = blob()
  const [one, other] = [a.writer('import-tar', 0), b.writer('import-tar', 0)]
  for (const writer of [one, other]) {
    await writer.stat()
    expect(await withinMs(1_000, writer.stat())).toMatchObject({ offset: 0 })
    await writer.write(0, bytes)
  }
  for (const writer of [one, other]) expect(await writer.commit({ offset: bytes.length })).toMatchObject({ digest })
  for (const client of [a, b]) {
    expect(await client.read(digest)).toEqual(bytes)
    await client.delete(digest)
  }
  await untilGone(digest)
})

test('the digest is found in a ref like name@sha256:…', async () => {
  const { bytes, digest } = blob()
  const first = a.writer(`docker.io/library/x@${digest}`, bytes.length)
  await first.stat()
  await first.stat()
  const second = b.writer(`manifest-${digest}`, bytes.length)
  await second.stat()
  const waiting = watched(second.stat())
  await untilWaiting(digest, 'b')
  await first.write(0, bytes)
  await first.commit({ offset: bytes.length })
  expect(await waiting.over).toMatchObject({ offset: bytes.length })
})

test('WRITE at 0 begins anew; elsewhere than at its end it is OUT_OF_RANGE', async () => {
  const { bytes, digest, ref } = blob()
  const writer = a.writer(ref, bytes.length)
  await writer.stat()
  await writer.stat()
  await writer.write(0, Buffer.from('something else'))
  expect(await writer.write(0, bytes.subarray(0, 5_000))).toMatchObject({ offset: 5_000 })
  await writer.write(5_000, bytes.subarray(5_000))
  expect(await writer.commit({ offset: bytes.length })).toMatchObject({ digest })

  const other = blob()
  const wrong = a.writer(other.ref, other.bytes.length)
  await wrong.stat()
  await wrong.stat()
  await wrong.write(0, other.bytes.subarray(0, 100))
  await expect(wrong.write(50, other.bytes.subarray(50))).rejects.toThrow('OUT_OF_RANGE')
})

test('a message may have 15 MiB', async () => {
  const { bytes, digest, ref } = blob(15 << 20)
  expect(await a.put(ref, bytes)).toMatchObject({ offset: bytes.length, digest })
  const size = 32 << 10
  const offset = 7 * size + 5
  expect(await a.read(digest, { offset, size })).toEqual(bytes.subarray(offset, offset + size))
  expect(digestOf(await b.put(`x/1/layer-${digest}`, bytes).then(() => b.read(digest)))).toBe(digest)
})

test('an ingest goes on at its offset after a restart of the store', async () => {
  const { bytes, digest, ref } = blob(300_000)
  const writer = a.writer(ref, bytes.length)
  await writer.stat()
  await writer.stat()
  await writer.write(0, bytes.subarray(0, 200_000))
  const node = stage.node('a')
  await node.stopStore()
  await expect(writer.stat()).rejects.toThrow()
  await node.startStore()
  await until('it answers again', () => a.list().catch(() => undefined))
  expect(await a.status(ref)).toMatchObject({ offset: 200_000, total: bytes.length })

  const resumed = a.writer(ref, bytes.length)
  await resumed.stat()
  expect(await resumed.stat()).toMatchObject({ offset: 200_000 })
  await resumed.write(200_000, bytes.subarray(200_000))
  expect(await resumed.commit({ offset: bytes.length })).toMatchObject({ digest })
  expect(await a.read(digest)).toEqual(bytes)
})

test('a wrong digest, or a wrong size, at COMMIT is FAILED_PRECONDITION, and leaves nothing', async () => {
  const { bytes, digest, ref } = blob()
  const writer = a.writer(ref, bytes.length)
  await writer.stat()
  await writer.stat()
  await writer.write(0, randomBytes(bytes.length))
  await expect(writer.commit({ offset: bytes.length, expected: digest })).rejects.toThrow('FAILED_PRECONDITION')
  await expect(a.status(ref)).rejects.toThrow('NOT_FOUND')
  await expect(a.info(digest)).rejects.toThrow('NOT_FOUND')
  expect(stage.node('a').hostBlobs()).not.toContain(digest)

  const short = a.writer(ref, bytes.length)
  await short.stat()
  await short.stat()
  await short.write(0, bytes.subarray(0, 100))
  await expect(short.commit({ offset: 100, expected: digest })).rejects.toThrow('FAILED_PRECONDITION')
  expect(await b.put(ref, bytes)).toMatchObject({ digest })
})

test('a client that goes away lets the next one in at once, whether it wrote or waited or had found it', async () => {
  const { bytes, digest, ref } = blob()
  const first = a.writer(ref, bytes.length)
  await first.stat()
  await first.stat()
  await first.write(0, bytes.subarray(0, 1_000))
  const second = b.writer(ref, bytes.length)
  await second.stat()
  const waiting = second.stat()
  await untilWaiting(digest, 'b')
  first.cancel()
  expect(await withinMs(1_000, waiting)).toMatchObject({ offset: 0 })

  const third = a.writer(`x/3/layer-${digest}`, bytes.length)
  await third.stat()
  void third.stat()
  await untilWaiting(digest, 'a')
  third.cancel()
  await until('it does not wait any more', async () => (await nodesWaiting(digest)).length === 0)
  await second.write(0, bytes)
  await second.commit({ offset: bytes.length })

  const finder = a.writer(`x/4/layer-${digest}`, bytes.length)
  await finder.stat()
  expect(await finder.stat()).toMatchObject({ offset: bytes.length })
  finder.cancel()
  await until('it is not counted', async () => (await stage.baton.references.list(digest)).join() === 'b')
  await b.delete(digest)
  await untilGone(digest)
})

test('Abort throws away what was written; what is not there is NOT_FOUND', async () => {
  const { bytes, ref } = blob()
  const writer = a.writer(ref, bytes.length)
  await writer.stat()
  await writer.stat()
  await writer.write(0, bytes.subarray(0, 1_000))
  await a.abort(ref)
  await expect(writer.write(1_000, bytes.subarray(1_000))).rejects.toThrow()
  await expect(a.status(ref)).rejects.toThrow('NOT_FOUND')
  await expect(a.abort(ref)).rejects.toThrow('NOT_FOUND')
  expect((await a.statuses()).map((each) => each.ref)).not.toContain(ref)
  // Begun anew, from the beginning.
  const again = a.writer(ref, bytes.length)
  await again.stat()
  expect(await again.stat()).toMatchObject({ offset: 0 })
  again.cancel()
})

function blob(size = 10_000) {
  const bytes = randomBytes(size)
  const digest = digestOf(bytes)
  return { bytes, digest, ref: `default/1/layer-${digest}` }
}

async function untilWaiting(digest: string, node: string): Promise<void> {
  await until(`${node} waits for ${digest}`, async () => (await nodesWaiting(digest)).includes(node))
}

/** The nodes that wait to pull a blob. One that has given it up may stand in line with a `delete`, to drop its reference. */
async function nodesWaiting(digest: string): Promise<readonly string[]> {
  const waiters = await stage.baton.waiters(digest)
  return waiters.filter(({ operation }) => operation === 'pull').map(({ node }) => node)
}

async function untilGone(digest: string): Promise<void> {
  await until('it is in no host', () => stage.cluster.nodes.every((node) => !node.hostBlobs().includes(digest)))
}
