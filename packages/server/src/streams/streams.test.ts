import type { Socket } from 'node:net'
import { rawSocket } from '@baton-lock/test-support/raw-socket'
import { newWorld, quiet, roundTrips, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const KIB = 1024
const holder = { namespace: 'default', operation: 'lock', resource: 'x', owner: 'a', fence: 1 }
const told = { type: 'progress', ...holder, progress: 'x'.repeat(4_000) } as const

test('there is a limit to the number of streams, and one that closes makes room', async () => {
  const { stream, get, app } = newWorld({ limits: { streams: 2 } })
  const one = await stream('/v1/events')
  const two = await stream('/lock/subscribe?type=pull&resource_id=x')
  expect([one.status, two.status, app.streams.size]).toEqual([200, 200, 2])
  expect(await get('/v1/events')).toMatchObject({ status: 429, body: { code: 'too-many-streams' } })
  expect((await get('/lock/subscribe?type=pull&resource_id=x')).status).toBe(429)
  one.close()
  while (app.streams.size === 2) await quiet()
  expect((await stream('/v1/events')).status).toBe(200)
})

test('a reader that does not read is cut, and those who do miss nothing', async () => {
  const world = newWorld({ limits: { streamBytes: 64 * 1024 } })
  const { app, service, stream, post } = world
  await post('/v1/acquire', { operation: 'lock', resource: 'x', node: 'a' })
  const reader = await stream('/v1/events')
  const deaf = await neverReads(world, '/v1/events')
  while (app.streams.size < 2) await quiet()

  let sent = 0
  while (app.streams.cut === 0) {
    for (let burst = 0; burst < 10; burst++, sent++) await service.call(told)
    await reader.until(() => reader.events().length === sent + 1)
    expect(sent).toBeLessThan(20_000)
  }
  expect([app.streams.cut, app.streams.size]).toEqual([1, 1])
  expect(new Set(reader.ids()).size).toBe(sent + 1)
  expect(deaf.bytesRead).toBe(0)
})

test.each([
  ['that all streams together may not leave unread', { allStreamsBytes: 1_000 }],
  ['that one stream may not leave unread', { streamBytes: 64 * KIB }],
])('a burst %s is no sign of a slow reader', async (_, limits) => {
  const { app, service, stream, post } = newWorld({ limits })
  await post('/v1/acquire', { operation: 'lock', resource: 'x', node: 'a' })
  const reader = await stream('/v1/events')
  for (let burst = 0; burst < 50; burst++) await service.call(told)
  await reader.until(() => reader.events().length === 51)
  expect(app.streams.cut).toBe(0)
})

test('streams of both kinds and answers share one limit, and one who reads misses nothing when others are cut', async () => {
  const limits = { allStreamsBytes: 1_000 * KIB, streamBytes: 2_000 * KIB }
  const world = newWorld({ limits })
  const { app, service, stream, post } = world
  await post('/v1/acquire', { operation: 'lock', resource: 'x', node: 'a' })
  const reader = await stream('/v1/events')
  for (let count = 0; count < 3; count++) {
    await neverReads(world, '/v1/events')
    const webSocket = await neverReads(world, '/v1/stream', UPGRADE)
    webSocket.write(maskedFrame(TEXT, '{"listen":[{"id":1,"scope":{"of":"all"}}]}'))
    const asker = await neverReads(world, '/healthz')
    asker.write('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(50))
  }
  while (app.streams.size < 7) await quiet()

  let sent = 0
  while (app.streams.cut < 6) {
    for (let burst = 0; burst < 25; burst++, sent++) {
      await service.call(told)
      expect(app.unsent.bytes).toBeLessThanOrEqual(limits.allStreamsBytes)
    }
    await reader.until(() => reader.events().length === sent + 1)
    expect(sent).toBeLessThan(20_000)
  }
  expect(new Set(reader.ids()).size).toBe(sent + 1)
}, 120_000)

test('a WebSocket that pings and reads no pong is not read any more, and is cut in time', async () => {
  const world = newWorld()
  const socket = await neverReads(world, '/v1/stream', UPGRADE)
  while (world.app.streams.size === 0) await quiet()
  const pings = Buffer.concat(Array.from({ length: 500 }, () => maskedFrame(PING, 'x'.repeat(125))))
  let sent = 0
  // Until neither side takes any more.
  for (let isRead = true; isRead; sent += pings.length) {
    if (socket.write(pings)) continue
    isRead = await Promise.race([
      new Promise<true>((resolve) => socket.once('drain', () => resolve(true))),
      stands(world),
    ])
    expect(sent).toBeLessThan(64 * KIB * KIB)
  }
  expect(world.app.unsent.bytes).toBeLessThan(512 * KIB)
  await world.clock.advance(60_000)
  expect([world.app.streams.cut, world.app.unsent.bytes]).toEqual([1, 0])
})

test('closing the server resets its streams: nobody takes that for the end of what there is to say', async () => {
  const { stream, app } = newWorld()
  const open = [await stream('/v1/events'), await stream('/lock/subscribe?type=pull&resource_id=x&node_id=a')]
  await app.close()
  expect(await Promise.all(open.map(({ ended }) => ended))).toEqual(['reset', 'reset'])
})

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

const TEXT = 0x81
const PING = 0x89

/** With a mask of zeros: the payload as it is. */
function maskedFrame(kind: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([kind, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}

/** Opens a stream and leaves everything unread. */
async function neverReads(world: World, path: string, headers: readonly string[] = []): Promise<Socket> {
  const socket = await rawSocket(world, { isDeaf: true })
  socket.write(`${[`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`)
  return socket
}

/** False, once nothing has moved for a while. */
async function stands(world: World): Promise<false> {
  await roundTrips(world, 20)
  return false
}
