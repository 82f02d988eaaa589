import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Store } from '@baton-lock/store/store'
import { openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { rawSocket, readToEnd } from '@baton-lock/test-support/raw-socket'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'

const key = { operation: 'lock', resource: 'r' }

/** A WebSocket that was greeted. */
async function stream(world: World) {
  const opened = await openWebSocket(world)
  await opened.until(() => opened.frames.length > 0)
  return { ...opened, ask: (frame: object) => opened.webSocket.send(JSON.stringify(frame)) }
}

/** A client that keeps its connection. */
function keptConnection() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return (url: string): Promise<{ status: number; connection: string | undefined; body: unknown }> =>
    new Promise((resolve, reject) => {
      const outgoing = httpRequest(url, { agent }, async (response: IncomingMessage) => {
        let text = ''
        for await (const chunk of response) text += chunk
        resolve({ status: response.statusCode!, connection: response.headers.connection, body: JSON.parse(text) })
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
}

/** Lists of resources wait until they are let go. */
function slowWorld() {
  let letGo = () => {}
  const isLetGo = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const slow = (store: Store) => {
    const list: Store['list'] = async (...asked) => {
      await isLetGo
      return store.list(...asked)
    }
    return overlaid(store, { list })
  }
  return { world: newWorld({ wrap: slow }), letGo: () => letGo() }
}

test('a server that drains is alive and not ready, and each answer is the last one of its connection', async () => {
  const world = newWorld()
  const url = await world.url()
  const get = keptConnection()
  expect(await get(`${url}/readyz`)).toMatchObject({ status: 200, connection: 'keep-alive' })
  const drained = world.app.drain(8_000)
  const alive = await fetch(`${url}/healthz`)
  expect([alive.status, alive.headers.get('connection')]).toEqual([200, 'close'])
  expect(await get(`${url}/readyz`)).toEqual({ status: 503, connection: 'close', body: { status: 'draining' } })
  expect(await drained).toEqual({ cut: 0 })
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('after a tenth of a second nobody is let in, although requests are still under way', async () => {
  const { world, letGo } = slowWorld()
  const socket = await rawSocket(world)
  socket.write('GET /v1/resources HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await quiet()
  const drained = world.app.drain(8_000)
  await world.clock.advance(100)
  await expect(fetch(`${await world.url()}/healthz`)).rejects.toThrow()
  const answer = readToEnd(socket)
  letGo()
  expect(await answer).toMatch(/"status":"resources"/)
  expect(await drained).toEqual({ cut: 0 })
})

test('connections without a request are kept for as long as one may be on its way, and then closed', async () => {
  const world = newWorld()
  const get = keptConnection()
  await get(`${await world.url()}/healthz`)
  await rawSocket(world)
  let isDrained = false
  const drained = world.app.drain(8_000).then((done) => {
    isDrained = true
    return done
  })
  await world.clock.advance(99)
  await quiet()
  expect(isDrained).toBe(false)
  await world.clock.advance(1)
  expect(await drained).toEqual({ cut: 0 })
})

test('what was asked is answered, on every path, before the server goes', async () => {
  const { world, letGo } = slowWorld()
  const url = await world.url()
  const socket = await rawSocket(world)
  socket.write('GET /v1/resources HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const streamed = await stream(world)
  streamed.ask({ from: 1, requests: [{ type: 'list-resources' }, { type: 'acquire', ...key, node: 'a', hold: 'h' }] })
  await streamed.until(() => streamed.frames.some(({ replies }) => replies?.[0]?.[0] === 2))
  const drained = world.app.drain(8_000)
  const answer = readToEnd(socket)
  await streamed.until(() => streamed.frames.at(-1)?.draining === true)
  // One that does not know better asks nevertheless.
  streamed.ask({ from: 3, requests: [{ type: 'cancel', ...key, node: 'a', owner: 'a', hold: 'h' }] })
  letGo()
  await streamed.until(() => streamed.frames.flatMap(({ replies = [] }) => replies).length === 3)
  streamed.webSocket.close()
  expect(await answer).toMatch(
    /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*connection: close\r\n(.*\r\n)*\r\n\{"status":"resources"/i,
  )
  expect(await drained).toEqual({ cut: 0 })
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

test('a stream of events ends cleanly and wants to be opened again soon; a classic subscriber is reset, last of all', async () => {
  const world = newWorld()
  const events = await world.stream('/v1/events')
  const classic = await world.stream('/lock/subscribe?type=pull&resource_id=x')
  const streamed = await stream(world)
  await events.until(() => events.events().length > 0)
  const drained = world.app.drain(8_000)
  expect(await events.ended).toBe('end')
  expect(events.text()).toMatch(/^retry: 1000\n\n.*\n\nretry: 200\n\n$/s)
  let isReset = false
  void classic.ended.then(() => {
    isReset = true
  })
  await quiet()
  expect(isReset).toBe(false)
  streamed.webSocket.close()
  expect(await classic.ended).toBe('reset')
  expect(await drained).toEqual({ cut: 0 })
})

test('a stream that does not move is closed as by a restart', async () => {
  const world = newWorld()
  const streamed = await stream(world)
  const drained = world.app.drain(8_000)
  await streamed.until(() => streamed.frames.at(-1)?.draining === true)
  await world.clock.advance(2_999)
  await quiet()
  expect(streamed.webSocket.readyState).toBe(WebSocket.OPEN)
  await world.clock.advance(1)
  expect((await streamed.closed).code).toBe(1012)
  expect(await drained).toEqual({ cut: 0 })
})

test('no stream is opened by a server that drains', async () => {
  const { world, letGo } = slowWorld()
  const socket = await rawSocket(world)
  socket.write(
    'GET /v1/resources HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n',
  )
  const answer = readToEnd(socket)
  await quiet()
  const drained = world.app.drain(8_000)
  expect(await world.get('/v1/events')).toMatchObject({ status: 503, body: { code: 'draining' } })
  letGo()
  // The first answer was begun before; the connection goes after it, or after the second was refused.
  expect(await answer).toMatch(/"status":"resources"/)
  expect(await drained).toEqual({ cut: 0 })
})

test('who is not done when the time is over is cut, and counted', async () => {
  const { world } = slowWorld()
  const deaf = await rawSocket(world, { isDeaf: true })
  deaf.write('GET /v1/resources HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const streamed = await stream(world)
  streamed.ask({ from: 1, requests: [{ type: 'list-resources' }] })
  const classic = await world.stream('/lock/subscribe?type=pull&resource_id=x')
  await quiet()
  // It does not say goodbye either.
  streamed.webSocket.pause()
  const drained = world.app.drain(8_000)
  await world.clock.advance(8_000)
  expect(await drained).toEqual({ cut: 2 })
  expect(await classic.ended).toBe('reset')
})
