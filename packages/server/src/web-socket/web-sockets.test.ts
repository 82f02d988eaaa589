import { createHash } from 'node:crypto'
import { connect as connectSocket, type Socket } from 'node:net'
import { FRAME_LIMITS, type Token } from '@baton-lock/protocol'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { openWebSocket as open } from '@baton-lock/test-support/opened-web-socket'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'

const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex')
const tokens: Token[] = [{ sha256: sha256('of-a'), role: 'node', nodes: ['a'] }]
const ask = { type: 'acquire', operation: 'pull', resource: 'r', node: 'a', hold: 'h1' }

/** Sends bytes as they are, and gives all that comes back until the connection is closed, or until it is enough. */
async function raw(world: World, text: string | Buffer, isEnough = (_: string) => false): Promise<string> {
  const { port } = new URL(await world.url())
  const socket: Socket = connectSocket(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let answer = ''
  socket.on('error', () => {})
  socket.write(text)
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      if (isEnough(answer)) resolve(answer)
    })
    socket.on('close', () => resolve(answer))
  })
}

const upgrade = (path = '/v1/stream', more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

test('requests, answers and events go over one WebSocket', async () => {
  const world = newWorld()
  const { webSocket, frames, until } = await open(world)
  await until(() => frames.length === 1)
  expect(frames[0]).toEqual({ store: world.store.id })
  webSocket.send(JSON.stringify({ listen: [{ id: 1, scope: { of: 'all' } }] }))
  await until(() => frames.length === 2)
  webSocket.send(JSON.stringify({ from: 1, requests: [ask] }))
  await until(() => frames.some(({ replies }) => replies) && frames.filter(({ events }) => events).length === 2)
  expect(frames.flatMap(({ replies }) => replies ?? [])).toMatchObject([[1, { status: 'granted', fence: 1 }]])
  expect(frames.flatMap(({ events }) => events ?? []).at(-1)).toMatchObject([
    1,
    expect.any(String),
    { type: 'granted' },
  ])
})

test('the upgrade needs a token where requests do, and a request may do what its token may', async () => {
  const world = newWorld({ tokens })
  expect((await open(world)).status).toBe(401)
  expect((await open(world, { token: 'wrong' })).status).toBe(401)
  const { webSocket, frames, until, status } = await open(world, { token: 'of-a' })
  expect(status).toBeUndefined()
  webSocket.send(JSON.stringify({ from: 1, requests: [ask, { ...ask, node: 'b', hold: 'h2' }] }))
  await until(() => frames.flatMap(({ replies }) => replies ?? []).length === 2)
  const replies = new Map(frames.flatMap(({ replies }) => replies ?? []))
  expect([replies.get(1), replies.get(2)]).toMatchObject([
    { status: 'granted' },
    { status: 'refused', code: 'forbidden' },
  ])
  webSocket.send(JSON.stringify({ listen: [{ id: 1, scope: { of: 'all' } }] }))
  await until(() => frames.some(({ ended, events }) => ended || events))
})

test('a refused upgrade is answered as Baton answers', async () => {
  const answer = await raw(newWorld({ tokens }), upgrade())
  expect(answer).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/)
  expect(answer).toMatch(/\r\nWWW-Authenticate: Bearer\r\n/)
  const [, body = ''] = answer.split('\r\n\r\n')
  expect(JSON.parse(body)).toMatchObject({ status: 'refused', code: 'unauthorised' })
})

test('no more WebSockets are let in than there may be streams', async () => {
  const world = newWorld({ limits: { streams: 1 } })
  const first = await open(world)
  expect((await open(world)).status).toBe(429)
  first.webSocket.terminate()
  await first.closed
})

test('another path has no WebSocket', async () => {
  expect((await open(newWorld(), { path: '/v1/streams' })).status).toBe(404)
  expect((await open(newWorld(), { path: '/v1/acquire' })).status).toBe(405)
})

test.each([
  ['h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'],
  ['a protocol that nobody knows', 'Connection: upgrade\r\nUpgrade: gopher/1.0'],
])('a request that offers %s is answered as if it did not', async (_, offer) => {
  const world = newWorld()
  const answer = await raw(world, `GET /healthz HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n\r\n`, (text) =>
    text.includes('}'),
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  const body = JSON.stringify(ask).replace('"type":"acquire",', '')
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`
  const posted = await raw(
    world,
    `POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n${length}\r\n\r\n${body}`,
    (text) => text.includes('}'),
  )
  expect(posted).toMatch(/^HTTP\/1\.1 200 .*"status":"granted"/s)
})

test('the body of such a request may come after its headers, and another request after it', async () => {
  const world = newWorld()
  const { port } = new URL(await world.url())
  const socket = connectSocket(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let answer = ''
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = (chunk: Buffer) => {
        answer += chunk.toString()
        if (condition()) {
          socket.off('data', look)
          resolve()
        }
      }
      socket.on('data', look)
    })
  const body = JSON.stringify(ask).replace('"type":"acquire",', '')
  const head = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  const granted = until(() => answer.includes('"granted"'))
  socket.write(head('/v1/acquire', body.length) + body.slice(0, 5))
  await settled()
  socket.write(body.slice(5))
  await granted
  answer = ''
  const listed = until(() => answer.includes('"policy"'))
  socket.write('GET /v1/policy HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n')
  await listed
})

test.each([
  ['text that is no frame', (webSocket: WebSocket) => webSocket.send('hello')],
  ['bytes', (webSocket: WebSocket) => webSocket.send(Buffer.from('{}'))],
  ['a frame with a field too many', (webSocket: WebSocket) => webSocket.send('{"from":1,"request":[]}')],
])('%s after the upgrade ends the connection with the reason, and nothing else', async (_, send) => {
  const world = newWorld()
  const { webSocket, closed } = await open(world)
  const other = await open(world)
  send(webSocket)
  expect(await closed).toMatchObject({ code: 1008, reason: expect.stringMatching(/\w/) })
  other.webSocket.send(JSON.stringify({ from: 1, requests: [ask] }))
  await other.until(() => other.frames.length === 2)
})

test('a message beyond the largest ends the connection before it has been read', async () => {
  const world = newWorld()
  const { webSocket, closed } = await open(world)
  webSocket.send('x'.repeat(FRAME_LIMITS.bytes * 2))
  expect((await closed).code).toBe(1009)
})

test('JSON that is nested deep is refused as a request, and changes nothing; deeper than anybody can write it, it ends the stream', async () => {
  const world = newWorld()
  const { webSocket, frames, until, closed } = await open(world)
  const depth = 10_000
  const deep = '['.repeat(depth) + ']'.repeat(depth)
  const place = '"operation":"pull","resource":"r","owner":"a","fence":1'
  const requests = [
    deep,
    `{"type":"release",${place},"hold":"h1","outcome":"success","result":${deep}}`,
    `{"type":"progress",${place},"progress":${deep}}`,
    `{"type":"apply-policy","version":1,"policy":${deep}}`,
    `{"type":"acquire","operation":"pull","resource":${deep},"node":"a"}`,
  ]
  for (const [index, request] of requests.entries()) webSocket.send(`{"from":${index + 1},"requests":[${request}]}`)
  await until(() => frames.flatMap(({ replies }) => replies ?? []).length === requests.length)
  for (const [, reply] of frames.flatMap(({ replies }) => replies ?? []))
    expect(reply).toMatchObject({ status: 'refused', code: expect.stringMatching(/^(bad-request|too-large)$/) })
  webSocket.send(`{"from":9,"requests":[${'['.repeat(50_000)}${']'.repeat(50_000)}]}`)
  expect(await closed).toEqual({ code: 1008, reason: 'JSON that nobody could have written' })
})

test('raw garbage after the upgrade never ends the server', async () => {
  const world = newWorld()
  const random = (seed: number) => createHash('sha512').update(`${seed}`).digest()
  const attacks = [
    ...Array.from({ length: 40 }, (_, seed) => random(seed)),
    Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    Buffer.from([0x88, 0x80, 0, 0, 0, 0]),
    Buffer.from([0x81, 0x02, 0x7b, 0x7d]),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
  ]
  for (const attack of attacks) {
    const { port } = new URL(await world.url())
    const socket = connectSocket(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    const gone = new Promise((resolve) => socket.on('close', resolve))
    // Nobody is slowed down for what was a minute ago.
    await world.clock.advance(60_000)
    socket.write(upgrade())
    await new Promise((resolve) => socket.once('data', resolve))
    socket.end(attack)
    socket.resume()
    await gone
  }
  expect((await world.get('/healthz')).status).toBe(200)
  const { frames, until } = await open(world)
  await until(() => frames.length === 1)
})

test('a client that gives no sign of life for three beats is cut off, one that does is not', async () => {
  const world = newWorld()
  const alive = await open(world)
  const { port } = new URL(await world.url())
  const silent = connectSocket(Number(port), '127.0.0.1')
  onTestFinished(() => void silent.destroy())
  const gone = new Promise((resolve) => silent.on('close', resolve))
  silent.on('error', () => {})
  silent.write(upgrade())
  await new Promise((resolve) => silent.once('data', resolve))
  silent.resume()
  for (let beat = 0; beat < 4; beat++) {
    const ping = new Promise((resolve) => alive.webSocket.once('ping', resolve))
    await world.clock.advance(15_000)
    await ping
    // Its pong is on its way; a request says the same, and is answered.
    const count = alive.frames.length
    alive.webSocket.send(JSON.stringify({ from: beat + 1, requests: [{ type: 'get-policy' }] }))
    await alive.until(() => alive.frames.length > count)
  }
  await gone
  expect(alive.webSocket.readyState).toBe(WebSocket.OPEN)
})

test('when the server closes, so do its WebSockets', async () => {
  const world = newWorld()
  const { closed } = await open(world)
  await world.app.close()
  await closed
})
