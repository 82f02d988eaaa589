import { completePolicy } from '@baton-lock/core'
import { GoClient, inTime } from '@baton-lock/test-support/go-client'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const body = (node: string, more: object = {}) => ({ type: 'pull', resource_id: 'x', node_id: node, ...more })
const path = '/lock/subscribe?type=pull&resource_id=x'

/** Lets each of these nodes ask once. */
async function asked({ post }: World, ...nodes: string[]): Promise<void> {
  for (const node of nodes) await post('/lock', body(node))
}

test('a success is one line to every subscriber of the key, its keys in order', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b')
  const named = await world.stream(`${path}&node_id=b`)
  const nameless = await world.stream(path)
  expect(named.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  await world.post('/unlock', body('a'))
  for (const stream of [named, nameless]) {
    await stream.until(() => stream.events().length === 1)
    await quiet()
    expect(stream.text()).toBe(
      'data: {"type":"pull","resource_id":"x","node_id":"a","success":true,"error":"","completed_at":"2023-11-14T22:13:20.000Z"}\n\n',
    )
  }
})

test('headers arrive at once, and no line comes while there is nothing to say', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b')
  const stream = await world.stream(`${path}&node_id=b`)
  expect(stream.status).toBe(200)
  await world.clock.advance(120_000)
  await quiet()
  expect(stream.text()).toBe('')
})

test('a hand-over names the new holder, and is repeated until it claims', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b', 'c')
  const b = await world.stream(`${path}&node_id=b`)
  const c = await world.stream(`${path}&node_id=c`)
  const watcher = await world.stream(path)
  await world.post('/unlock', body('a', { error: 'no' }))
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject({ node_id: 'b', success: false, error: '' })
  await world.clock.advance(1_000)
  await b.until(() => b.events().length === 4)
  await watcher.until(() => watcher.events().length === 4)
  expect((await world.post('/lock', body('b'))).body.acquired).toBe(true)
  await world.clock.advance(10_000)
  await quiet()
  expect(b.events()).toHaveLength(4)
  expect(watcher.events().every(({ node_id }) => node_id === 'b')).toBe(true)
  expect(c.events()).toEqual([])
})

test('one that subscribes after it was handed the lock learns it all the same', async () => {
  for (const query of [`${path}&node_id=b`, path]) {
    const world = newWorld()
    await asked(world, 'a', 'b')
    await world.post('/unlock', body('a', { error: 'no' }))
    const b = await world.stream(query)
    await quiet()
    expect(b.events()).toEqual([])
    await world.clock.advance(300)
    await b.until(() => b.events().length === 1)
    expect(b.events()[0]).toMatchObject({ node_id: 'b', success: false, error: '' })
  }
})

test('a hand-over that is not claimed passes on, and the late one is told to ask again', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b', 'c')
  const b = await world.stream(`${path}&node_id=b`)
  const c = await world.stream(`${path}&node_id=c`)
  await world.post('/unlock', body('a', { error: 'no' }))
  await world.clock.advance(5_000)
  await c.until(() => c.events().length === 1)
  expect(c.events()[0]).toMatchObject({ node_id: 'c', success: false, error: '' })
  await b.until(() => b.events().at(-1)?.error !== '')
  expect(b.events().at(-1)).toMatchObject({ node_id: 'b', success: false })
})

test('a plain mutex hands over on success: its waiters hear no success that is not theirs', async () => {
  const world = newWorld()
  const lock = (node: string) => body(node, { type: 'lock' })
  for (const node of ['a', 'b']) await world.post('/lock', lock(node))
  const at = '/lock/subscribe?type=lock&resource_id=x'
  const streams = [await world.stream(at), await world.stream(`${at}&node_id=b`)]
  await world.post('/unlock', lock('a'))
  for (const stream of streams) {
    await stream.until(() => stream.events().length === 1)
    expect(stream.events()).toMatchObject([{ node_id: 'b', success: false, error: '' }])
  }
})

test('those who waited for what failed for good ask again, and are refused with the error', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b', 'c')
  const b = new GoClient(world, { node: 'b' })
  const c = new GoClient(world, { node: 'c', named: false })
  const waiting = [b.lock(), c.lock()]
  while (world.app.streams.size < 2) await quiet()
  const fence = 1
  const at = { operation: 'pull', resource: 'x', owner: 'a', fence, outcome: 'failure' }
  await world.post('/v1/release', { ...at, error: 'bad digest', permanent: true })
  expect(await inTime(world, Promise.all(waiting))).toEqual([{ refused: 'bad digest' }, { refused: 'bad digest' }])
})

test('an open subscription keeps the place of the node that it names, and of nobody else', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b', 'c')
  const b = await world.stream(`${path}&node_id=b`)
  await world.clock.advance(59_000)
  await world.clock.advance(10 * 60_000)
  expect((await world.get('/v1/resource?resource=x')).body.resource.waiters).toMatchObject([{ node: 'b' }])
  b.close()
  while (world.app.streams.size > 0) await quiet()
  await world.clock.advance(61_000)
  expect((await world.get('/v1/resource?resource=x')).body.resource.waiters).toEqual([])
})

test('while somebody listens without a name, all who asked keep their places: claiming shows who lives', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b')
  const stream = await world.stream(path)
  await world.clock.advance(10 * 60_000)
  await world.post('/unlock', body('a', { error: 'no' }))
  await stream.until(() => stream.events().length === 1)
  expect(stream.events()[0]).toMatchObject({ node_id: 'b', success: false })
})

test('a crashed holder blocks for an hour at most, and a waiter that left is passed over', async () => {
  const world = newWorld()
  const [a, b, c] = ['a', 'b', 'c'].map((node) => new GoClient(world, { node })) as [GoClient, GoClient, GoClient]
  expect(await a.lock()).toBe('acquired')
  void b.lock().catch(() => {})
  while (world.app.streams.size < 1) await quiet()
  const third = c.lock()
  while (world.app.streams.size < 2) await quiet()
  b.die()
  while (world.app.streams.size > 1) await quiet()
  await world.clock.advance(3_600_000)
  expect(await inTime(world, third)).toBe('acquired')
})

test.each([
  ['named', true, 'pull'],
  ['nameless', false, 'pull'],
  ['named', true, 'image-layer'],
  ['nameless', false, 'image-layer'],
])('nine clients wait on an operation of 1.5 s, and the work is done once: %s: %s, %s', async (_, named, type) => {
  const world = newWorld()
  const clients = Array.from({ length: 10 }, (_each, index) => new GoClient(world, { node: `n${index}`, named, type }))
  expect(await clients[0]!.lock()).toBe('acquired')
  const waiting = Promise.all(clients.slice(1).map((client) => client.lock()))
  while (world.app.streams.size < 9) await quiet()
  await world.clock.advance(1_500)
  await clients[0]!.unlock()
  expect(await inTime(world, waiting)).toEqual(Array(9).fill('done'))
  expect(await world.service.counts()).toMatchObject({ grants: 0, waiters: 0 })
})

test.each([
  ['named', true],
  ['nameless', false],
])('%s clients take the lock one after another while it fails, in the order in which they asked', async (_, named) => {
  const world = newWorld()
  const clients = Array.from({ length: 5 }, (_each, index) => new GoClient(world, { node: `n${index}`, named }))
  const order: string[] = []
  const work = async (client: GoClient, index: number) => {
    const locked = await client.lock()
    if (locked !== 'acquired') return locked
    order.push(client.node)
    await client.unlock(index < 3 ? 'no luck' : undefined)
    return 'acquired'
  }
  expect(await clients[0]!.lock()).toBe('acquired')
  const results: Promise<unknown>[] = []
  for (const [index, client] of clients.entries()) {
    if (index === 0) continue
    results.push(work(client, index))
    while (world.app.streams.size < index) await quiet()
  }
  await clients[0]!.unlock('no luck')
  expect(await inTime(world, Promise.all(results))).toEqual(['acquired', 'acquired', 'acquired', 'done'])
  expect(order).toEqual(['n1', 'n2', 'n3'])
})

test('one that heard of the success on a stream that names it asks next for something new', async () => {
  const world = newWorld()
  const ask = (node: string) => world.post('/lock', body(node, { type: 'update' }))
  await ask('a')
  for (const node of ['b', 'c']) await ask(node)
  const stream = await world.stream('/lock/subscribe?type=update&resource_id=x&node_id=b')
  await world.post('/unlock', body('a', { type: 'update' }))
  await stream.until(() => stream.events().length === 1)
  await world.clock.advance(3_000)
  expect((await ask('b')).body).toMatchObject({ acquired: true })
  await world.post('/unlock', body('b', { type: 'update', error: 'no' }))
  // One that gives no name may have missed it: it is told when it asks again, for a moment.
  for (const waitMs of [0, 1_999, 1]) {
    await world.clock.advance(waitMs)
    expect((await ask('c')).body).toMatchObject(waitMs === 1 ? { acquired: true } : { acquired: false, skip: true })
  }
})

test('a node that polls has heard what it was told', async () => {
  const { post } = newWorld()
  const update = (node: string) => body(node, { type: 'update' })
  await post('/lock', update('a'))
  await post('/lock', update('b'))
  await post('/unlock', update('a'))
  expect((await post('/lock/status', update('b'))).body).toMatchObject({ completed: true, success: true })
  expect((await post('/lock/status', update('b'))).body).toMatchObject({ completed: true, success: true })
  expect((await post('/lock', update('b'))).body).toMatchObject({ acquired: true })
})

test('a node that holds one type and asks for another waits for itself under one holder a resource', async () => {
  const { post } = newWorld({ policy: completePolicy({ namespaces: { default: { exclusion: 'resource' } } }) })
  await post('/lock', body('a'))
  expect(await post('/lock', body('a', { type: 'update' }))).toMatchObject({ status: 200, body: { acquired: false } })
  await post('/unlock', body('a'))
  expect((await post('/lock', body('a', { type: 'update' }))).body).toMatchObject({ acquired: true })
})

test('one that was passed over while it was away is told to ask again, and strangers hear nothing', async () => {
  const world = newWorld()
  await asked(world, 'a', 'b', 'c')
  await world.post('/unlock', body('a', { error: 'no' }))
  await world.clock.advance(5_000)
  await world.post('/lock', body('c'))
  const b = await world.stream(`${path}&node_id=b`)
  const stranger = await world.stream(`${path}&node_id=stranger`)
  const holder = await world.stream(`${path}&node_id=c`)
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject({ node_id: 'b', success: false, error: expect.stringContaining('ask again') })
  await quiet()
  expect([stranger.events(), holder.events()]).toEqual([[], []])
})

test('a store that is away when a subscriber comes costs it the stream, not the server', async () => {
  let away = false
  const world = newWorld({
    wrap: (store) =>
      new Proxy(store, {
        get: (target, name) => {
          if (away && ['read', 'standing', 'lateSkip'].includes(String(name)))
            return () => Promise.reject(new Error('away'))
          const value = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        },
      }),
  })
  await asked(world, 'a', 'b')
  const early = await world.stream(path)
  await world.clock.advance(200)
  away = true
  for (const query of [path, `${path}&node_id=b`, '/lock/subscribe?type=pull&resource_id=y']) {
    const stream = await world.stream(query)
    expect(await stream.ended).toBe('reset')
  }
  expect(early.text()).toBe('')
  away = false
  const back = await world.stream(path)
  await world.post('/unlock', body('a'))
  for (const stream of [early, back]) await stream.until(() => stream.events().length === 1)
})

test('streams of one type hear nothing of another', async () => {
  const world = newWorld()
  const types = ['pull', 'update', 'delete', 'image-layer']
  const streams = new Map<string, Awaited<ReturnType<World['stream']>>>()
  for (const type of types) {
    for (const node of ['a', 'b']) await world.post('/lock', body(node, { type }))
    streams.set(type, await world.stream(`/lock/subscribe?type=${type}&resource_id=x`))
  }
  await world.post('/unlock', body('a', { type: 'update' }))
  await world.post('/unlock', body('a', { type: 'image-layer', error: 'no' }))
  const heard = (type: string) => streams.get(type)!.events()
  await streams.get('update')!.until(() => heard('update').length > 0)
  await streams.get('image-layer')!.until(() => heard('image-layer').length > 0)
  await quiet()
  expect(heard('update')).toMatchObject([{ type: 'update', node_id: 'a', success: true }])
  expect(heard('image-layer')).toMatchObject([{ type: 'image-layer', node_id: 'b', success: false }])
  expect([heard('pull'), heard('delete')]).toEqual([[], []])
})
