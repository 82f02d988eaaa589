import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blobOf, type ContentNode, newContentWorld, opened, pulled } from '@baton-lock/test-support/content-world'
import { expect, onTestFinished, test, vi } from 'vitest'
import { blobPath, foldersOf, makeFolders } from '../node/folders.ts'
import { hexOf } from './digest.ts'
import { mark } from './mark.ts'
import { removeCopies } from './removal.ts'

const blob = blobOf('the bytes of a layer')
const becomes = (check: () => unknown) => vi.waitFor(check, { timeout: 5_000, interval: 5 })
const references = async ({ baton }: ContentNode) => [...(await baton.references.list(blob.digest))].sort()

test('a blob goes when the last node drops it, whoever has it in its folder', async () => {
  const { start, isAnywhere } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  await pulled(a, blob)
  await pulled(b, blob)
  expect(await a.store.deleteAndHear(blob.digest)).toEqual({ status: 'in-use', usedBy: ['b'] })
  expect(a.store.info(blob.digest)).toBeUndefined()
  expect(a.blobs()).toEqual([blob.digest])
  expect(Buffer.from(await b.store.readers.read(blob.digest, 0, 3)).toString()).toBe('the')
  expect(await b.store.deleteAndHear(blob.digest)).toEqual({ status: 'removed', usedBy: [] })
  expect(isAnywhere(blob.digest)).toBe(false)
  expect(await references(a)).toEqual([])
})

test('a delete runs whether or not anything is there', async () => {
  const { start } = newContentWorld()
  const a = await start('a')
  expect(await a.store.deleteAndHear(blob.digest)).toEqual({ status: 'removed', usedBy: [] })
})

test('who waits for a blob that is being deleted finds it', async () => {
  const { start, passing } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  await pulled(a, blob)
  // The one that deletes looks for those who wait a little later: until then it has the grant.
  a.wire.fate = ({ type }) => (type === 'list-waiters' ? { requestAfterMs: 500 } : 'pass')
  await a.store.delete(blob.digest)
  await becomes(async () => expect((await b.baton.status(blob.digest)).grants[0]?.operation).toBe('delete'))
  const waiting = pulled(b, blob)
  await becomes(async () => expect((await b.baton.status(blob.digest)).waiting).toBe(1))
  expect(await passing(waiting)).toBe('found')
  expect(a.blobs()).toEqual([blob.digest])
  await becomes(async () => expect(await references(a)).toEqual(['b']))
})

test('what is dropped while a writer has it in hand is not dropped if that writer commits', async () => {
  const { start } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  await pulled(a, blob)
  await pulled(b, blob)
  const again = await b.store.openWriter({ ref: `other/1/layer-${blob.digest}`, total: blob.bytes.length })
  await again.ready()
  await b.store.delete(blob.digest)
  await again.commit({ expected: blob.digest })
  expect(b.files('pending')).toEqual([])
  expect(await references(a)).toEqual(['a', 'b'])
})

test('and is dropped if it does not', async () => {
  const { start } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  await pulled(a, blob)
  const writer = await opened(b, blob)
  await writer.ready()
  expect(await references(a)).toEqual(['a', 'b'])
  await writer.close()
  await becomes(async () => expect(await references(a)).toEqual(['a']))
})

test('a copy that its node has not been able to tell of is left to that node', async () => {
  const { start, clock, passing } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  b.wire.goDown()
  expect(await passing(pulled(b, blob))).toBe('fetched')
  expect(b.log.join()).toContain('is fetched without asking')
  expect(b.files('unconfirmed')).toEqual([hexOf(blob.digest)])
  expect(await a.store.deleteAndHear(blob.digest)).toMatchObject({ status: 'removed' })
  expect(b.blobs()).toEqual([blob.digest])
  b.wire.comeBack()
  await becomes(async () => {
    await clock.advance(1_000)
    expect(await references(a)).toEqual(['b'])
  })
  await becomes(() => expect([...b.files('unconfirmed'), ...b.files('pending')]).toEqual([]))
})

test('a copy that its node publishes while others are removed is still there, however the two meet', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-removal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [a, b] = [foldersOf('a', join(folder, 'a')), foldersOf('b', join(folder, 'b'))]
  for (const each of [a, b]) await makeFolders(each)
  const path = blobPath(b.host, blob.digest)
  const publish = async (delay: number) => {
    for (let turn = 0; turn < delay; turn++) await new Promise((resolve) => setImmediate(resolve))
    await mark(b, blob.digest)
    writeFileSync(`${path}.new`, blob.bytes)
    await rename(`${path}.new`, path)
  }
  for (let round = 0; round < 200; round++) {
    rmSync(join(b.unconfirmed, hexOf(blob.digest)), { force: true })
    writeFileSync(path, blob.bytes)
    await Promise.all([publish(round % 20), removeCopies(blob.digest, { nodes: [a, b], own: a })])
    expect(existsSync(path), `round ${round}`).toBe(true)
  }
})

test('what a crash left aside is put back where it is used, and removed where it is not', async () => {
  const { start } = newContentWorld()
  const a = await start('a')
  const other = blobOf('another layer')
  await pulled(a, blob)
  const { own } = a.store.config
  for (const each of [blob, other]) writeFileSync(join(own.removed, hexOf(each.digest)), each.bytes)
  const next = await a.crash()
  expect(next.files('removed')).toEqual([])
  expect(next.blobs()).toEqual([blob.digest])
})

test('one that comes back before its delete was told has nothing removed under its feet', async () => {
  const { start, passing } = newContentWorld()
  const a = await start('a')
  await pulled(a, blob)
  a.wire.goDown()
  await a.store.delete(blob.digest)
  await becomes(() => expect(a.wire.of('acquire').map(({ operation }) => operation)).toContain('delete'))
  expect(a.files('pending')).toHaveLength(1)
  const again = await opened(a, blob)
  a.wire.comeBack()
  await passing(again.ready())
  expect(again.stage).toBe('found')
  await again.commit({ expected: blob.digest })
  expect(a.files('pending')).toEqual([])
  expect(await references(a)).toEqual(['a'])
  expect(a.blobs()).toEqual([blob.digest])
})

test('one who gives up before it hears that it was counted among the users is not one of them', async () => {
  const { start, clock } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  await pulled(a, blob)
  b.wire.fate = ({ type, operation }) => (type === 'acquire' && operation === 'pull' ? 'lose-reply' : 'pass')
  const writer = await opened(b, blob)
  writer.ready().catch(() => {})
  await becomes(async () => expect(await references(a)).toEqual(['a', 'b']))
  await writer.close()
  await becomes(async () => {
    await clock.advance(1_000)
    expect(await references(a)).toEqual(['a'])
  })
})

test('a delete that comes while a commit is still being told is told after it', async () => {
  const { start, clock, isAnywhere } = newContentWorld()
  const [a, b] = [await start('a'), await start('b')]
  const writer = await opened(a, blob)
  await writer.ready()
  await writer.write(0, blob.bytes)
  a.wire.fate = ({ type }) => (type === 'release' ? { requestAfterMs: 1_500 } : 'pass')
  const committed = writer.commit({ expected: blob.digest })
  await becomes(async () => {
    await clock.advance(100)
    expect(a.store.info(blob.digest)).toBeDefined()
  })
  await clock.advance(500)
  await committed
  await a.store.delete(blob.digest)
  a.wire.fate = () => 'pass'
  await becomes(async () => {
    await clock.advance(1_000)
    expect(await references(b)).toEqual([])
    expect(isAnywhere(blob.digest)).toBe(false)
    expect([...a.files('pending'), ...a.files('unconfirmed')]).toEqual([])
  })
})
