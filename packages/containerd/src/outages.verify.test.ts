import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { blobOf, type ContentNode, newContentWorld, opened, pulled } from '@baton-lock/test-support/content-world'
import { expect, test, vi } from 'vitest'
import { hexOf } from './blobs/digest.ts'
import { blobPath } from './node/folders.ts'

const blob = blobOf('the bytes of a layer')
const becomes = (check: () => unknown) => vi.waitFor(check, { timeout: 5_000, interval: 5 })
const references = async ({ baton }: ContentNode, digest = blob.digest) =>
  [...(await baton.references.list(digest))].sort()

test('without a lock server a pull goes on after some seconds, and the next one at once', async () => {
  const world = newContentWorld()
  const a = await world.start('a')
  a.wire.goDown()
  expect(await world.passing(pulled(a, blob), { withinMs: 20_000 })).toBe('fetched')
  const startMs = world.clock.nowMs()
  expect(await world.passing(pulled(a, blobOf('second')))).toBe('fetched')
  expect(world.clock.nowMs() - startMs).toBeLessThan(4_000)
  expect(a.store.counters.counts.uncoordinated).toBe(2)
  a.wire.comeBack()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(a.store.reachability.isAway).toBe(false)
  })
  expect(a.log).toContain('a lock server answers again')
})

test('without a lock server, what lies in the own folder of the node is not fetched again', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  await pulled(a, blob)
  await pulled(b, blob)
  expect(await a.store.deleteAndHear(blob.digest)).toMatchObject({ status: 'in-use' })
  a.wire.goDown()
  expect(await world.passing(pulled(a, blob))).toBe('found')
  expect(a.files('unconfirmed')).toEqual([hexOf(blob.digest)])
  a.wire.comeBack()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(b)).toEqual(['a', 'b'])
    expect([...a.files('unconfirmed'), ...a.files('pending')]).toEqual([])
  })
})

test('a drop that was withdrawn for another pull is told all the same where nothing comes of that pull', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  await pulled(b, blob)
  await pulled(a, blob)
  a.wire.goDown()
  await a.store.delete(blob.digest)
  const writer = await opened(a, blob)
  await world.passing(writer.ready())
  expect(writer.stage).toBe('writing')
  await writer.write(0, blob.bytes.subarray(0, 9))
  await a.store.abort(blob.ref)
  a.wire.comeBack()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(b)).toEqual(['b'])
  })
})

test('one that waits in line goes on too when the lock server goes away', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  const writer = await opened(a, blob)
  await writer.ready()
  const waiting = pulled(b, blob)
  await becomes(async () => expect((await a.baton.status(blob.digest)).waiting).toBe(1))
  b.wire.goDown()
  expect(await world.passing(waiting)).toBe('fetched')
})

test('where it is to fail, it fails; where it is to wait, it waits', async () => {
  const world = newContentWorld()
  const a = await world.start('a', { when_unavailable: 'fail' })
  const b = await world.start('b', { when_unavailable: 'wait' })
  a.wire.goDown()
  b.wire.goDown()
  const waiting = pulled(b, blob)
  await expect(world.passing(pulled(a, blob))).rejects.toMatchObject({ code: 'unavailable' })
  for (let seconds = 0; seconds < 60; seconds++) await world.clock.advance(1_000)
  expect(b.store.writerOf(blob.ref)?.stage).toBe('waiting')
  b.wire.comeBack()
  expect(await world.passing(waiting)).toBe('fetched')
})

test('a commit does not wait for a lock server that has gone away, and is told later', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  const writer = await opened(a, blob)
  await writer.ready()
  await writer.write(0, blob.bytes)
  a.wire.goDown()
  const startMs = world.clock.nowMs()
  const committed = writer.commit({ expected: blob.digest })
  await becomes(async () => {
    expect(a.store.info(blob.digest)).toBeDefined()
  })
  expect(await world.passing(committed)).toBe(blob.digest)
  expect(world.clock.nowMs() - startMs).toBeLessThan(3_000)
  expect(a.files('unconfirmed')).toHaveLength(1)
  for (let seconds = 0; seconds < 30; seconds++) await world.clock.advance(1_000)
  a.wire.comeBack()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(b)).toEqual(['a'])
  })
  await becomes(() => expect(a.files('unconfirmed')).toEqual([]))
})

test('a restarted store goes on with an ingest where it was', async () => {
  const world = newContentWorld()
  const a = await world.start('a')
  const writer = await opened(a, blob)
  await writer.ready()
  await writer.write(0, blob.bytes.subarray(0, 9))
  const next = await a.crash()
  const again = await opened(next, blob)
  expect(again.offset).toBe(9)
  await world.passing(again.ready())
  await again.write(9, blob.bytes.subarray(9))
  expect(await again.commit({ expected: blob.digest })).toBe(blob.digest)
})

test('what was not told before a crash is told after it', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  await pulled(a, blob)
  a.wire.goDown()
  await a.store.delete(blob.digest)
  const next = await a.crash()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(b)).toEqual([])
    expect(next.blobs()).toEqual([])
  })
})

test('at the start the lock server is told of what it does not know, and asked to delete what nobody uses', async () => {
  const world = newContentWorld()
  const a = await world.start('a')
  const [used, unknown, unused, stale] = [blob, blobOf('unknown'), blobOf('unused'), blobOf('stale')]
  await pulled(a, used)
  await pulled(a, unknown)
  await a.baton.references.release(unknown.digest)
  await a.baton.references.add(stale.digest)
  writeFileSync(blobPath(a.store.config.own.host, unused.digest), unused.bytes)
  const next = await a.crash()
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(next, unknown.digest)).toEqual(['a'])
    expect(await references(next, stale.digest)).toEqual([])
    expect(next.blobs().sort()).toEqual([used.digest, unknown.digest].sort())
  })
})

test('an ingest that nobody goes on with is removed after a day', async () => {
  const world = newContentWorld()
  const a = await world.start('a')
  const writer = await opened(a, blob)
  await writer.write(0, blob.bytes.subarray(0, 3))
  await writer.close()
  expect(a.files('ingests')).toHaveLength(1)
  world.clock.jump(25 * 3_600_000)
  await world.clock.advance(3_600_000)
  await becomes(() => expect(a.files('ingests')).toEqual([]))
})

test('a skip whose blob shows late is waited for, and one that never shows is disbelieved', async () => {
  const world = newContentWorld()
  const [a, b] = [await world.start('a'), await world.start('b')]
  await pulled(a, blob)
  const path = blobPath(a.store.config.own.host, blob.digest)
  rmSync(path)
  const late = opened(b, blob).then(async (writer) => {
    await writer.ready()
    return writer
  })
  await world.clock.advance(1_000)
  writeFileSync(path, blob.bytes)
  const writer = await world.passing(late)
  expect(writer.stage).toBe('found')
  await writer.close()
  rmSync(path)
  expect(await world.passing(pulled(b, blob))).toBe('fetched')
})

test('blobs that were there before the store are taken to be in use', async () => {
  const world = newContentWorld()
  const a = await world.start('a')
  const { own } = a.store.config
  rmSync(join(own.host, '.baton', 'imported'))
  writeFileSync(blobPath(own.host, blob.digest), blob.bytes)
  const next = await a.crash()
  expect(next.store.info(blob.digest)?.size).toBe(blob.bytes.length)
  expect(next.files('uses')).toEqual([hexOf(blob.digest)])
  await becomes(async () => {
    await world.clock.advance(1_000)
    expect(await references(next)).toEqual(['a'])
  })
})

test('a node is served by one process', async () => {
  const world = newContentWorld()
  await world.start('a')
  await expect(world.start('a')).rejects.toThrow(/is in use by another process of a; end that one first/)
})
