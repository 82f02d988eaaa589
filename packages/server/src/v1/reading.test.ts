import { connect } from 'node:net'
import { processMs } from '@baton-lock/service/timers/clock'
import type { Store } from '@baton-lock/store/store'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet, roundTrips, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const BUDGET = 50_000
const limits = { replyBytes: BUDGET }
const acquire = (resource: string, node: string) => ({ type: 'acquire', operation: 'lock', resource, node })
const read = { type: 'get-resource', resource: 'queue' }
const many = (one: object, count = 200) => Array.from({ length: count }, () => one)

/** Some hundred wait for it: 10 KB as JSON. */
async function withQueue(world: World): Promise<World> {
  const names = Array.from({ length: 100 }, (_, index) => `node-${String(index).padStart(20, '0')}`)
  await world.post('/v1/batch', { requests: names.map((node) => acquire('queue', node)) })
  return world
}

/** Counts what is read of the store; each read takes some milliseconds of work. */
function slowReads({ ms = 0 } = {}) {
  const counted = { reads: 0 }
  const work = () => {
    counted.reads++
    const untilMs = processMs() + ms
    while (processMs() < untilMs);
  }
  const wrap = (store: Store) =>
    overlaid(store, {
      read: (...asked) => {
        work()
        return store.read(...asked)
      },
      list: async (query, pace) => {
        await pace?.pause()
        work()
        return store.list(query, pace)
      },
    })
  return { wrap, counted }
}

test('the replies of a batch up to its budget stand, the reads beyond it are refused, and steps never are', async () => {
  const { post } = await withQueue(newWorld({ limits }))
  const requests = [...many(read, 100), acquire('x', 'a'), read, acquire('y', 'a')]
  const { status, body } = await post('/v1/batch', { requests })
  expect(status).toBe(200)
  const told = body.replies.map((reply: { status: string; code?: string }) => reply.code ?? reply.status)
  const count = told.indexOf('not-read')
  expect(count).toBeGreaterThan(2)
  expect(told).toEqual([
    ...many({}, count).map(() => 'resource'),
    ...told.slice(count, 100),
    'granted',
    'not-read',
    'granted',
  ])
  expect(new Set(told.slice(count, 100))).toEqual(new Set(['not-read']))
  expect(JSON.stringify(body.replies.slice(0, count)).length).toBeLessThan(BUDGET * 1.5)
  expect(body.replies[count].message).toMatch(/another batch/)
})

test('a read is answered however large it is, where it is the first', async () => {
  const { get, post } = await withQueue(newWorld({ limits: { replyBytes: 1 } }))
  expect((await get('/v1/resource?resource=queue')).body.resource.waiting).toBe(99)
  const { body } = await post('/v1/batch', { requests: [read, read] })
  expect(body.replies).toMatchObject([{ status: 'resource' }, { code: 'not-read' }])
})

test('a page of resources ends early, and the next ones have the rest', async () => {
  const world = newWorld({ limits })
  const names = Array.from({ length: 300 }, (_, index) => String(index).padStart(400, '0'))
  for (const from of [0, 100, 200])
    await world.post('/v1/batch', { requests: names.slice(from, from + 100).map((name) => acquire(name, 'a')) })
  const found: string[] = []
  for (let after = ''; ; ) {
    const { body } = await world.get(`/v1/resources?limit=1000${after}`)
    expect(JSON.stringify(body).length).toBeLessThan(BUDGET * 1.1)
    found.push(...body.resources.map(({ resource }: { resource: string }) => resource))
    if (body.next === undefined) break
    expect(body.resources.length).toBeGreaterThan(50)
    after = `&after=${encodeURIComponent(body.next)}`
  }
  expect(found).toEqual(names)
})

test.each([
  ['a batch of reads', { requests: many(read) }],
  ['a batch of lists', { requests: many({ type: 'list-resources' }) }],
])('others have their turn while %s is answered', async (_, batch) => {
  const { wrap, counted } = slowReads({ ms: 3 })
  const { url } = newWorld({ wrap })
  const base = await url()
  const ask = async (path: string, body: object) => {
    await (await fetch(base + path, { method: 'POST', body: JSON.stringify(body) })).json()
    return counted.reads
  }
  const batched = ask('/v1/batch', batch)
  while (counted.reads === 0) await quiet()
  expect(await ask('/v1/acquire', acquire('other', 'b'))).toBeLessThan(100)
  expect(await batched).toBe(200)
})

test('others have their turn while the references of a node are dropped', async () => {
  const world = newWorld()
  for (const from of [0, 500, 1_000, 1_500]) {
    const requests = Array.from({ length: 500 }, (_, i) => ({
      type: 'add-reference',
      resource: `r${from + i}`,
      node: 'n',
    }))
    await world.post('/v1/batch', { requests })
  }
  const base = await world.url()
  const dropping = fetch(`${base}/v1/references/drop-node`, { method: 'POST', body: '{"node":"n"}' })
  let isOver = false
  let looks = 0
  const dropped = dropping.then((reply) => reply.json()).finally(() => (isOver = true))
  for (; !isOver; looks++) await world.service.counts().then(() => new Promise(setImmediate))
  expect(await dropped).toEqual({ status: 'dropped', resources: 2_000 })
  expect(looks).toBeGreaterThan(5)
})

test('what is left of a batch is not read when its client has gone; its steps are carried out', async () => {
  const { wrap, counted } = slowReads({ ms: 3 })
  const world = newWorld({ wrap })
  const { port } = new URL(await world.url())
  const body = JSON.stringify({ requests: [...many(read, 500), acquire('x', 'a')] })
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  while (counted.reads === 0) await quiet()
  socket.destroy()
  while ((await world.store.counts()).grants === 0) await quiet()
  expect(counted.reads).toBeLessThan(250)
})

test('of reads that are sent ahead on one connection, the next is made when the reply before it was sent', async () => {
  const { wrap, counted } = slowReads()
  const world = newWorld({ wrap, limits: { requestsAhead: 100 } })
  // A reply that is larger than what the system takes for one who does not read.
  const policy = (await world.store.policy()).policy
  const large = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`n${index}`, policy.namespaces.default!]),
  )
  await world.store.applyPolicy({ namespaces: large }, 1)
  const { port } = new URL(await world.url())
  const socket = connect(Number(port), '127.0.0.1').pause()
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`
  socket.write(get('/v1/policy') + get('/v1/resource?resource=x').repeat(90))
  await roundTrips(world)
  expect(counted.reads).toBe(0)
  socket.resume()
  while (counted.reads < 90) await quiet()
  socket.destroy()
})
