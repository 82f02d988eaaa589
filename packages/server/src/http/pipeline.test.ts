import { rawSocket, readToEnd } from '@baton-lock/test-support/raw-socket'
import { newWorld, quiet, roundTrips, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const MIB = 1024 * 1024
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
const post = (path: string, value: object, headers = '') => {
  const body = JSON.stringify(value)
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`
}
const acquire = (resource: string) => post('/v1/acquire', { operation: 'lock', resource, node: 'a' })
const CLOSE = 'Connection: close\r\n'
/** More than a socket takes by itself. */
const DOCUMENTS = 500

test('requests that are sent ahead are all answered, in their order', async () => {
  const world = newWorld({ limits: { requestsAhead: 100 } })
  const socket = await rawSocket(world)
  const names = Array.from({ length: 80 }, (_, index) => `r${index}`)
  const lines = names.map((name, index) => (index % 3 === 0 ? get(`/v1/resource?resource=${name}`) : acquire(name)))
  // In pieces that end anywhere: a body may come when its request waits.
  const text = lines.join('') + get('/healthz', CLOSE)
  const answers = readToEnd(socket)
  for (let at = 0; at < text.length; at += 1_000) {
    socket.write(text.slice(at, at + 1_000))
    await quiet()
  }
  const bodies = [...(await answers).matchAll(/\r\n\r\n(\{.*?\})(?=HTTP\/1\.1|$)/gs)].map(([, body]) =>
    JSON.parse(body!),
  )
  expect(bodies).toHaveLength(81)
  for (const [index] of names.entries())
    expect(bodies[index]).toMatchObject(
      index % 3 === 0 ? { resource: { resource: `r${index}`, grants: [] } } : { status: 'granted' },
    )
  expect(bodies.at(-1)).toEqual({ status: 'ok' })
})

test('what is asked behind answers that nobody reads waits until they are read', async () => {
  const world = newWorld({ limits: { requestsAhead: 1_000 } })
  const socket = await rawSocket(world, { isDeaf: true })
  socket.write(get('/openapi.json').repeat(DOCUMENTS) + acquire('behind') + get('/healthz', CLOSE))
  await somethingUnsent(world)
  await roundTrips(world)
  expect(await isHeld(world, 'behind')).toBe(false)
  // One answer, and a little for each request that waits.
  expect(world.app.unsent.bytes).toBeLessThan(DOCUMENTS * 4 * 1024 + 64 * 1024)
  expect((await readToEnd(socket)).match(/HTTP\/1\.1 200/g)).toHaveLength(DOCUMENTS + 2)
  expect(await isHeld(world, 'behind')).toBe(true)
  await roundTrips(world)
  expect(world.app.unsent.bytes).toBe(0)
})

test('more requests than may be sent ahead are refused, in their turn, and the connection ends', async () => {
  const world = newWorld({ limits: { requestsAhead: 5 } })
  const socket = await rawSocket(world)
  socket.write(get('/healthz').repeat(30) + acquire('beyond'))
  const text = await readToEnd(socket)
  expect(text.match(/"status":"ok"/g)).toHaveLength(6)
  expect(text.match(/HTTP\/1\.1 4/g)).toHaveLength(1)
  expect(text).toMatch(
    /HTTP\/1\.1 400 .*"code":"bad-request","message":"More than 5 requests were sent ahead[^"]*"\}$/s,
  )
  expect(await isHeld(world, 'beyond')).toBe(false)
})

test('of what is sent beyond them, next to nothing is even parsed', async () => {
  const world = newWorld({ limits: { requestsAhead: 5 } })
  let requests = 0
  await world.url()
  world.app.server.on('request', () => requests++)
  const socket = await rawSocket(world)
  socket.write(get('/healthz').repeat(1_000))
  await readToEnd(socket)
  // Those in the 4 KiB that were read before any request waited.
  expect(requests).toBeLessThanOrEqual(Math.ceil(4_096 / get('/healthz').length))
})

test('what Node would refuse by itself waits for its turn too', async () => {
  const world = newWorld({ limits: { requestsAhead: 5 } })
  const socket = await rawSocket(world)
  const strange = get('/healthz', 'Expect: more\r\n')
  socket.write(
    acquire('first') + strange + get('/healthz', 'Expect: 100-continue\r\n') + 'GET / HTTP/1.1\r\n\r\n'.repeat(3),
  )
  const text = await readToEnd(socket)
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  expect(statuses.filter((status) => status !== 100)).toEqual([200, 417, 200, 400])
})

test('a connection whose peer does not read is cut after a while, and one that reads is not', async () => {
  const world = newWorld({ limits: { requestsAhead: 1_000 } })
  const deaf = await rawSocket(world, { isDeaf: true })
  deaf.write(get('/openapi.json').repeat(DOCUMENTS))
  await somethingUnsent(world)
  const reader = await rawSocket(world)
  const read = readToEnd(reader)
  reader.write(get('/openapi.json').repeat(DOCUMENTS) + get('/healthz', CLOSE))
  expect((await read).match(/HTTP\/1\.1 200/g)).toHaveLength(DOCUMENTS + 1)
  await world.clock.advance(60_000)
  expect([world.app.streams.cut, world.app.unsent.bytes]).toEqual([1, 0])
  const closed = readToEnd(deaf)
  expect((await closed).length).toBeLessThan(DOCUMENTS * 20_000)
})

test('a request behind an event stream has no turn: the connection is cut in time', async () => {
  const world = newWorld()
  for (const path of ['/v1/events', '/lock/subscribe?type=pull&resource_id=x']) {
    const socket = await rawSocket(world)
    socket.write(get(path) + acquire('behind'))
  }
  while (world.app.streams.size < 2 || world.app.unsent.bytes < 8 * 1024) await quiet()
  await world.clock.advance(60_000)
  while (world.app.streams.size > 0) await quiet()
  expect([world.app.streams.cut, await isHeld(world, 'behind')]).toEqual([2, false])
})

test('answers that nobody reads, on many connections, are cut when they need too much room', async () => {
  const world = newWorld({ limits: { allStreamsBytes: MIB, requestsAhead: 500 } })
  for (let count = 0; count < 8; count++) {
    const socket = await rawSocket(world, { isDeaf: true })
    socket.write(get('/openapi.json').repeat(500))
    await roundTrips(world, 1)
    expect(world.app.unsent.bytes).toBeLessThanOrEqual(MIB)
  }
  // What the kernel buffers is not counted, so not every connection has to go.
  while (world.app.streams.cut <= 5) await quiet()
  expect((await world.get('/healthz')).status).toBe(200)
})

async function isHeld(world: World, resource: string): Promise<boolean> {
  return (await world.get(`/v1/resource?resource=${resource}`)).body.resource.grants.length > 0
}

async function somethingUnsent({ app }: World): Promise<void> {
  while (app.unsent.bytes === 0) await quiet()
}
