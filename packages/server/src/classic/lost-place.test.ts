import { GoClient, inTime } from '@baton-lock/test-support/go-client'
import { newWorld, quiet, serverBeside, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const body = (node: string, more: object = {}) => ({ type: 'update', resource_id: 'x', node_id: node, ...more })
const path = '/lock/subscribe?type=update&resource_id=x'
const toldToAsk = { node_id: 'b', success: false, error: expect.stringContaining('ask again') }

/** `b` has been handed the lock while it listened nowhere, and has lost it to `c`. */
async function passedOver(world: World): Promise<void> {
  for (const node of ['a', 'b', 'c']) await world.post('/lock', body(node))
  await world.post('/unlock', body('a', { error: 'no' }))
  await world.clock.advance(5_000)
  expect((await world.post('/lock', body('c'))).body.acquired).toBe(true)
}

test('one that was passed over is told so by a server that it never asked', async () => {
  const world = newWorld()
  await passedOver(world)
  await world.clock.advance(30_000)
  const other = serverBeside(world)
  const b = await other.stream(`${path}&node_id=b`)
  const stranger = await other.stream(`${path}&node_id=stranger`)
  await b.until(() => b.events().length === 1)
  expect(b.events()).toEqual([expect.objectContaining(toldToAsk)])
  expect((await other.post('/lock', body('b'))).body).toMatchObject({ acquired: false, skip: false })
  const again = await other.stream(`${path}&node_id=b`)
  await quiet()
  expect([again.events(), stranger.events()]).toEqual([[], []])
})

test('one whose place ran out is told so by another server', async () => {
  const world = newWorld()
  for (const node of ['a', 'b']) await world.post('/lock', body(node))
  await world.clock.advance(61_000)
  const b = await serverBeside(world).stream(`${path}&node_id=b`)
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject(toldToAsk)
})

test('one that was refused while it waited learns at another server that it has to ask again', async () => {
  const world = newWorld()
  const remove = (node: string) => body(node, { type: 'delete' })
  const pull = body('c', { type: 'pull' })
  for (const ask of [remove('a'), remove('b'), pull]) await world.post('/lock', ask)
  await world.post('/unlock', pull)
  await world.post('/unlock', { ...remove('a'), error: 'no' })
  const b = await serverBeside(world).stream('/lock/subscribe?type=delete&resource_id=x&node_id=b')
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject({ node_id: 'b', success: false, error: 'in-use' })
})

test('one that has lost its place and then worked is not told to ask again', async () => {
  const world = newWorld()
  await passedOver(world)
  await world.post('/unlock', body('c', { error: 'no' }))
  expect((await world.post('/lock', body('b'))).body.acquired).toBe(true)
  await world.post('/unlock', body('b', { error: 'no' }))
  const b = await serverBeside(world).stream(`${path}&node_id=b`)
  await quiet()
  expect(b.events()).toEqual([])
})

test('a success that has come since is told in place of a lost place', async () => {
  const world = newWorld()
  await passedOver(world)
  await world.post('/unlock', body('c'))
  const other = serverBeside(world)
  const b = await other.stream(`${path}&node_id=b`)
  await b.until(() => b.events().length === 1)
  expect(b.events()).toEqual([expect.objectContaining({ node_id: 'c', success: true })])
  expect((await other.post('/lock/status', body('b'))).body).toMatchObject({ completed: true, success: true })
})

test('a node that polls is told that it has lost its place', async () => {
  const world = newWorld()
  await passedOver(world)
  const status = await serverBeside(world).post('/lock/status', body('b'))
  expect(status.body).toEqual({ acquired: false, completed: true, success: false, error: 'passed-over' })
})

test.each([
  ['while nobody holds the key', false],
  ['when the holder has failed', true],
])('one that gives no name hears at another server that it may ask: %s', async (_, isHeld) => {
  const world = newWorld()
  await passedOver(world)
  const fail = () => world.post('/unlock', body('c', { error: 'no' }))
  if (!isHeld) await fail()
  const other = serverBeside(world)
  const b = await other.stream(path)
  await other.clock.advance(20_000)
  if (isHeld) {
    await quiet()
    expect(b.events()).toEqual([])
    await fail()
  }
  while (b.events().length === 0) {
    await quiet()
    await other.clock.advance(300)
  }
  expect(b.events()[0]).toMatchObject({ success: false, error: '' })
})

test('the known client goes on at another server after it was passed over', async () => {
  for (const named of [true, false]) {
    const world = newWorld()
    await passedOver(world)
    const other = serverBeside(world)
    const b = new GoClient(other, { node: 'b', type: 'update', named })
    const locked = b.waitAndLock()
    while (other.app.streams.size < 1) await quiet()
    await world.post('/unlock', body('c', { error: 'no' }))
    expect(await inTime(other, locked)).toBe('acquired')
  }
})

test('one whose grant was revoked before it claimed it is told so by another server', async () => {
  const world = newWorld()
  for (const node of ['a', 'b']) await world.post('/lock', body(node))
  await world.post('/unlock', body('a', { error: 'no' }))
  await world.post('/v1/revoke', { operation: 'update', resource: 'x' })
  const b = await serverBeside(world).stream(`${path}&node_id=b`)
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject(toldToAsk)
})
