import { newWorld, quiet } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const body = (node: string, more: object = {}) => ({ type: 'pull', resource_id: 'x', node_id: node, ...more })
const path = '/lock/subscribe?type=pull&resource_id=x'

test('a success is replayed to new subscribers for 10 s, while nobody holds the key', async () => {
  const world = newWorld()
  const update = (node: string) => body(node, { type: 'update' })
  const at = '/lock/subscribe?type=update&resource_id=x'
  await world.post('/lock', update('a'))
  await world.post('/unlock', update('a'))
  await world.clock.advance(9_000)
  for (const query of [at, `${at}&node_id=b`]) {
    const stream = await world.stream(query)
    await stream.until(() => stream.events().length === 1)
    expect(stream.events()[0]).toMatchObject({ node_id: 'a', success: true })
  }
  await world.post('/lock', update('c'))
  const held = await world.stream(at)
  await world.clock.advance(1_500)
  await world.post('/unlock', { ...update('c'), error: 'no' })
  const after = await world.stream(at)
  await quiet()
  expect([held.events(), after.events()]).toEqual([[], []])
})

test('a success that is kept is replayed for as long as it is', async () => {
  const world = newWorld()
  await world.post('/lock', body('a'))
  await world.post('/unlock', body('a'))
  await world.clock.advance(30 * 60_000)
  const stream = await world.stream(path)
  await stream.until(() => stream.events().length === 1)
  expect(stream.events()[0]).toMatchObject({ node_id: 'a', success: true })
})

test('where references alone say that it is there, a subscriber hears success', async () => {
  const world = newWorld()
  await world.post('/lock', body('a'))
  await world.post('/unlock', body('a'))
  await world.clock.advance(2 * 3_600_000)
  expect((await world.post('/lock', body('b'))).body.skip).toBe(true)
  const stream = await world.stream(`${path}&node_id=b`)
  await stream.until(() => stream.events().length === 1)
  expect(stream.events()[0].success).toBe(true)
})

test('what was deleted since is not replayed', async () => {
  const world = newWorld()
  await world.post('/lock', body('a'))
  await world.post('/unlock', body('a'))
  await world.post('/lock', body('a', { type: 'delete' }))
  await world.post('/unlock', body('a', { type: 'delete' }))
  const stream = await world.stream(path)
  await quiet()
  expect(stream.events()).toEqual([])
})

test('a node that waited is told to skip within 10 s of the success, whatever the retention', async () => {
  const world = newWorld()
  const update = (node: string) => body(node, { type: 'update' })
  for (const node of ['a', 'b']) await world.post('/lock', update(node))
  await world.post('/unlock', update('a'))
  await world.clock.advance(9_000)
  const reply = await world.post('/lock', update('b'))
  expect(reply.body).toEqual({ acquired: false, skip: true, message: expect.any(String) })
  expect((await world.post('/lock', update('c'))).body.acquired).toBe(true)
})
