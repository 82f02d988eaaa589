import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blobOf, type ContentNode, newContentWorld, opened, pulled } from '@baton-lock/test-support/content-world'
import { describe, expect, test, vi } from 'vitest'
import { checkContent } from '../node/check.ts'

const blob = blobOf('the bytes of a layer')

/** Waits for real files; time is simulated. */
const becomes = (check: () => unknown) => vi.waitFor(check, { timeout: 5_000, interval: 5 })
const references = async ({ baton }: ContentNode, digest = blob.digest) =>
  [...(await baton.references.list(digest))].sort()

describe('a pull', () => {
  test('one node fetches, one that waited and one that comes later find it', async () => {
    const { start } = newContentWorld()
    const [a, b, c] = [await start('a'), await start('b'), await start('c')]
    const writer = await opened(a, blob)
    await writer.ready()
    expect(writer.stage).toBe('writing')
    const waiting = pulled(b, blob)
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    await writer.write(0, blob.bytes)
    expect(await writer.commit({ expected: blob.digest })).toBe(blob.digest)
    expect(await waiting).toBe('found')
    expect(await pulled(c, blob)).toBe('found')
    expect(await references(a)).toEqual(['a', 'b', 'c'])
    expect([a.blobs(), b.blobs(), c.blobs()]).toEqual([[blob.digest], [], []])
    expect(Buffer.from(await c.store.readers.read(blob.digest, 4, 5)).toString()).toBe('bytes')
    expect(b.store.counters.counts).toMatchObject({
      fetched: { gets: 0 },
      saved: { gets: 1, bytes: blob.bytes.length },
    })
    expect(a.files('unconfirmed')).toEqual([])
  })

  test('what is found is shown when it is committed, and not before', async () => {
    const { start } = newContentWorld()
    const [a, b] = [await start('a'), await start('b')]
    await pulled(a, blob)
    const writer = await opened(b, blob)
    expect(writer.offset).toBe(0)
    await writer.ready()
    expect(writer.offset).toBe(blob.bytes.length)
    expect(b.store.info(blob.digest)).toBeUndefined()
    await writer.commit({ total: 0, expected: blob.digest })
    expect(b.store.info(blob.digest)?.size).toBe(blob.bytes.length)
    expect(b.store.ingests.get(blob.ref)).toBeUndefined()
  })

  test('one that is given up hands over at once, and the next one is told by whom and why', async () => {
    const { start } = newContentWorld()
    const [a, b] = [await start('a'), await start('b')]
    const writer = await opened(a, blob)
    await writer.ready()
    await writer.write(0, blob.bytes.subarray(0, 4))
    const waiting = pulled(b, blob)
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    await writer.close('the client went away')
    expect(await waiting).toBe('fetched')
    expect(b.log.join()).toContain('attempt 2, after a failure (the client went away on a)')
    expect(a.store.ingests.get(blob.ref)?.offset).toBe(4)
  })

  test('one who waits and gives up leaves the line', async () => {
    const { start } = newContentWorld()
    const [a, b] = [await start('a'), await start('b')]
    const holder = await opened(a, blob)
    await holder.ready()
    const writer = await opened(b, blob)
    const ready = writer.ready()
    ready.catch(() => {})
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    await writer.close()
    await expect(ready).rejects.toThrow()
    const waiters = async () => (await a.baton.status(blob.digest)).waiters.map(({ operation }) => operation)
    await becomes(async () => expect(await waiters()).not.toContain('pull'))
    await holder.write(0, blob.bytes)
    await holder.commit()
    await becomes(() => expect(b.files('pending')).toEqual([]))
    expect([await references(a), a.blobs()]).toEqual([['a'], [blob.digest]])
  })

  test('a wrong digest is thrown away, and the next node has a try', async () => {
    const { start } = newContentWorld()
    const [a, b] = [await start('a'), await start('b')]
    const writer = await opened(a, blob)
    await writer.ready()
    const waiting = pulled(b, blob)
    waiting.catch(() => {})
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    await writer.write(0, Buffer.alloc(blob.bytes.length))
    await expect(writer.commit({ expected: blob.digest })).rejects.toMatchObject({ code: 'wrong-digest' })
    expect(await waiting).toBe('fetched')
    expect([a.blobs(), a.store.info(blob.digest), a.files('ingests')]).toEqual([[], undefined, []])
    expect(await references(a)).toEqual(['b'])
  })

  test('the same wrong digest on two nodes is that of the registry: those who still wait are told for good', async () => {
    const { start } = newContentWorld()
    const nodes = [await start('a'), await start('b'), await start('c')] as const
    const wrong = async (node: ContentNode) => {
      const writer = await opened(node, blob)
      await writer.ready()
      await writer.write(0, Buffer.alloc(blob.bytes.length))
      return writer.commit({ expected: blob.digest })
    }
    const grant = await nodes[0].baton.acquire('pull', blob.digest)
    const pulls: Promise<string>[] = []
    for (const [place, node] of nodes.entries()) {
      pulls.push(wrong(node).catch((error) => error.code))
      await becomes(async () => expect((await nodes[0].baton.status(blob.digest)).waiting).toBe(place + 1))
    }
    await grant.cancel()
    expect(await Promise.all(pulls)).toEqual(['wrong-digest', 'wrong-digest', 'failed-for-good'])
  })

  test('too few bytes are refused, and kept for another try', async () => {
    const { start } = newContentWorld()
    const a = await start('a')
    const writer = await opened(a, blob)
    await writer.ready()
    await writer.write(0, blob.bytes.subarray(0, 3))
    await expect(writer.commit({ expected: blob.digest })).rejects.toMatchObject({ code: 'wrong-size' })
    await writer.close()
    expect((await opened(a, blob)).offset).toBe(3)
  })

  test('one writer for each ref; another ref of the same blob waits as another node would', async () => {
    const { start } = newContentWorld()
    const a = await start('a')
    const writer = await opened(a, blob)
    await expect(opened(a, blob)).rejects.toMatchObject({ code: 'in-progress' })
    await writer.ready()
    const second = pulled(a, { ...blob, ref: `other/1/layer-${blob.digest}` })
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    await writer.write(0, blob.bytes)
    await writer.commit()
    expect(await second).toBe('found')
  })

  test('a ref that names no digest is written without asking, and told of afterwards', async () => {
    const { start } = newContentWorld()
    const a = await start('a')
    const writer = await a.store.openWriter({ ref: 'default/1/upload-7', total: 0 })
    await writer.ready()
    await writer.write(0, blob.bytes)
    expect(await writer.commit()).toBe(blob.digest)
    await becomes(async () => expect(await references(a)).toEqual(['a']))
    await becomes(() => expect(a.files('unconfirmed')).toEqual([]))
  })

  test('bytes that begin at 0 again replace what was there', async () => {
    const { start } = newContentWorld()
    const a = await start('a')
    const writer = await opened(a, blob)
    await writer.ready()
    await writer.write(0, Buffer.from('something else'))
    await writer.write(0, blob.bytes)
    expect(await writer.commit({ expected: blob.digest })).toBe(blob.digest)
    const other = await opened(a, blobOf('another'))
    await expect(other.write(5, blob.bytes)).rejects.toMatchObject({ code: 'out-of-range' })
  })

  test('who receives nothing for a minute lets the next one try, and its bytes are good all the same', async () => {
    const { start, clock } = newContentWorld()
    const [a, b] = [await start('a'), await start('b')]
    const writer = await opened(a, blob)
    await writer.ready()
    const waiting = opened(b, blob).then(async (other) => {
      await other.ready()
      return other
    })
    await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
    for (let seconds = 0; seconds < 61; seconds++) await clock.advance(1_000)
    const other = await waiting
    expect(b.log.join()).toContain('after a failure (nothing has come in for 60 s)')
    await writer.write(0, blob.bytes)
    await writer.commit({ expected: blob.digest })
    await other.write(0, blob.bytes)
    await other.commit({ expected: blob.digest })
    await becomes(async () => expect(await references(a)).toEqual(['a', 'b']))
  })
})

test.each([
  ['another format', (own: string) => writeFileSync(join(own, 'format'), 'baton content store, format 2\n')],
  ['no format', (own: string) => rmSync(join(own, 'format'))],
])('a folder of %s is refused, and left alone', async (_, change) => {
  const { start } = newContentWorld()
  const a = await start('a')
  await pulled(a, blob)
  const { config } = a.store
  await a.store.close()
  const own = join(config.own.host, '.baton')
  change(own)
  const before = readdirSync(own, { recursive: true })
  await expect(start('a')).rejects.toMatchObject({ code: 'unknown-format' })
  await expect(start('a')).rejects.toThrow(/but this Baton reads only 'baton content store, format 1': use the version/)
  const findings = await checkContent(config, { log: () => {} })
  expect(findings).toContainEqual({ how: 'wrong', sentence: expect.stringContaining('this Baton reads only') })
  expect(readdirSync(own, { recursive: true })).toEqual(before)
})
