import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import type { Token } from '@baton-lock/protocol'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'
import WebSocket from 'ws'

const tokens: Token[] = [{ sha256: createHash('sha256').update('root').digest('hex'), role: 'admin' }]
const bearer = { authorization: 'Bearer root' }
const evil = 'http://evil.example'
const ask = { operation: 'lock', resource: 'r', node: 'a' }
const classic = { type: 'lock', resource_id: 'r', node_id: 'a' }

interface Sent {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'OPTIONS'
  readonly path: string
  readonly body?: object
  /** With its length unknown beforehand, which is not the usual form of a post. */
  readonly isChunked?: boolean
}

const EVERY_PATH: readonly Sent[] = [
  { method: 'POST', path: '/v1/acquire', body: ask },
  { method: 'POST', path: '/v1/acquire', body: ask, isChunked: true },
  { method: 'POST', path: '/v1/batch', body: { requests: [{ type: 'acquire', ...ask }] } },
  { method: 'PUT', path: '/v1/policy', body: { version: 1, policy: { namespaces: {} } } },
  { method: 'POST', path: '/lock', body: classic },
  { method: 'POST', path: '/unlock', body: classic },
  { method: 'POST', path: '/lock/status', body: classic },
  { path: '/lock/status?type=lock&resource_id=r&node_id=a' },
  { path: '/lock/subscribe?type=lock&resource_id=r' },
  { path: '/v1/resources' },
  { path: '/v1/events' },
  { path: '/v1/stream' },
  { path: '/healthz' },
  { path: '/readyz' },
  { path: '/openapi.json' },
  { path: '/' },
  { method: 'OPTIONS', path: '/v1/acquire' },
]

/** What one request is answered; of a stream only its status. */
async function send(world: World, { method = 'GET', path, body, isChunked }: Sent, headers: Record<string, string>) {
  const url = await world.url()
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const text = body && JSON.stringify(body)
    const length = text && !isChunked ? { 'content-length': Buffer.byteLength(text) } : {}
    const outgoing = httpRequest(url + path, { method, agent: false, headers: { ...length, ...headers } })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      const status = response.statusCode ?? 0
      const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
      let got = ''
      response.on('data', (chunk) => (got += chunk))
      response.on('end', () => resolve({ status, text: got }))
      if (!isStream) return
      resolve({ status, text: '' })
      response.on('error', () => {})
      outgoing.destroy()
    })
    outgoing.end(text)
  })
}

/** 101 where it becomes a WebSocket. */
async function upgrade(world: World, headers: Record<string, string>): Promise<number> {
  const url = (await world.url()).replace('http', 'ws')
  const webSocket = new WebSocket(`${url}/v1/stream`, { headers })
  return new Promise((resolve) => {
    webSocket.on('error', () => {})
    webSocket.on('open', () => {
      webSocket.terminate()
      resolve(101)
    })
    webSocket.on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode))
  })
}

const hostOf = async (world: World) => new URL(await world.url()).host

test.each<[string, Record<string, string>]>([
  ['its origin', { origin: evil }],
  ['an origin that it does not say', { origin: 'null' }],
  ['its origin and its site', { origin: evil, 'sec-fetch-site': 'cross-site' }],
  ['that it is of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
  ['that it is a neighbour', { 'sec-fetch-site': 'same-site' }],
])(
  'a page of somebody else, which shows by %s, is refused on every path, with tokens and without',
  async (_, headers) => {
    for (const [world, more] of [[newWorld(), {}] as const, [newWorld({ tokens }), bearer] as const]) {
      for (const sent of EVERY_PATH) {
        const { status, text } = await send(world, sent, { ...headers, ...more })
        expect([sent, status]).toEqual([sent, 403])
        expect(text).toContain('ask from a page of this server, or from a program')
      }
      expect(await upgrade(world, { ...headers, ...more })).toBe(403)
      expect(await world.service.counts()).toMatchObject({ grants: 0, waiters: 0 })
    }
  },
)

test('the code is stable, and the classic paths answer in their own words', async () => {
  const world = newWorld()
  const said = async (sent: Sent) => JSON.parse((await send(world, sent, { origin: evil })).text)
  expect(await said(EVERY_PATH[0]!)).toMatchObject({ status: 'refused', code: 'foreign-page' })
  expect(await said({ path: '/v1/policy' })).toMatchObject({ status: 'refused', code: 'foreign-page' })
  const { error, ...body } = await said({ method: 'POST', path: '/lock', body: classic })
  expect(body).toEqual({ acquired: false, skip: false, message: error })
})

test('pages of the server itself, and programs, are let in', async () => {
  const world = newWorld()
  const host = await hostOf(world)
  for (const headers of [
    {},
    { origin: `http://${host}` },
    { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    // Before a proxy that speaks TLS and passes the name on.
    { origin: 'https://localhost:9', host: 'localhost:9' },
  ] as Record<string, string>[]) {
    for (const sent of EVERY_PATH) expect([403, 421]).not.toContain((await send(world, sent, headers)).status)
    expect(await upgrade(world, headers)).toBe(101)
  }
})

test.each(['evil.example', 'evil.example:8086', 'x', '127.0.0.1.evil.example', '[localhost]', '1.2.3'])(
  'without tokens the server does not answer to the name "%s", on any path',
  async (host) => {
    const world = newWorld()
    for (const sent of EVERY_PATH) {
      const { status, text } = await send(world, sent, { host })
      expect([sent, status]).toEqual([sent, 421])
      expect(text).toContain('`--allowed-host NAME`')
    }
    expect(await upgrade(world, { host })).toBe(421)
    expect(await world.service.counts()).toMatchObject({ grants: 0, waiters: 0 })
  },
)

test.each([
  'localhost',
  'LocalHost:8086',
  'localhost.',
  '10.1.2.3',
  '10.1.2.3:80',
  '[::1]',
  '[fe80::1]:8086',
  'b.test:1',
])('without tokens it answers to %s', async (host) => {
  const world = newWorld({ allowedHosts: ['B.test'] })
  expect((await send(world, EVERY_PATH[0]!, { host })).status).toBe(200)
  expect(await upgrade(world, { host })).toBe(101)
  // The next one is judged by its own name.
  expect((await send(world, EVERY_PATH[0]!, { host: 'evil.example' })).status).toBe(421)
})

test('with tokens it answers to any name', async () => {
  const world = newWorld({ tokens })
  expect((await send(world, EVERY_PATH[0]!, { host: 'any.example', ...bearer })).status).toBe(200)
  expect(await upgrade(world, { host: 'any.example', ...bearer })).toBe(101)
})

const status = '/lock/status?type=lock&resource_id=r&node_id=b'

/** A classic node b has been granted what node a let go of, and has not claimed it. */
async function unclaimed(world: World): Promise<void> {
  await world.post('/lock', classic)
  await world.post('/lock', { ...classic, node_id: 'b' })
  await world.post('/unlock', { ...classic, error: 'failed' })
}

const claimed = async (world: World) => (await world.get('/v1/resource?resource=r')).body.resource.grants[0].claimed

test.each<[string, (host: string) => Record<string, string>]>([
  ['Origin', (host) => ({ origin: `http://${host}` })],
  ['Referer', () => ({ referer: `${evil}/page` })],
  ['Sec-Fetch-Site', () => ({ 'sec-fetch-site': 'none' })],
  ['Sec-Fetch-Mode', () => ({ 'sec-fetch-mode': 'no-cors' })],
  ['Sec-Fetch-Dest', () => ({ 'sec-fetch-dest': 'image' })],
])('a GET with %s claims nothing, and does not say that it had', async (_, headersFor) => {
  const world = newWorld()
  const headers = headersFor(await hostOf(world))
  await unclaimed(world)
  const seen = await send(world, { path: status }, headers)
  expect([seen.status, JSON.parse(seen.text).acquired, await claimed(world)]).toEqual([200, false, false])
  await send(world, { path: status }, {})
  expect(await claimed(world)).toBe(true)
  expect(JSON.parse((await send(world, { path: status }, headers)).text).acquired).toBe(true)
})

test('a GET of an old client that polls claims, also by the fetch of Node', async () => {
  for (const poll of [
    (world: World) => send(world, { path: status }, {}),
    async (world: World) => fetch((await world.url()) + status),
  ]) {
    const world = newWorld()
    await unclaimed(world)
    await poll(world)
    expect(await claimed(world)).toBe(true)
  }
})

test('a GET of a page keeps nobody in line, neither by polling nor by a stream', async () => {
  const world = newWorld()
  const headers = { referer: `http://${await hostOf(world)}/` }
  await world.post('/lock', classic)
  await world.post('/lock', { ...classic, node_id: 'b' })
  await world.stream('/lock/subscribe?type=lock&resource_id=r&node_id=b', headers)
  await world.stream('/v1/events?resource=r&operation=lock&owner=b', headers)
  for (let polls = 0; polls < 4; polls++) {
    await send(world, { path: status }, headers)
    await world.clock.advance(16_000)
  }
  expect(await world.store.read({ namespace: 'default', resource: 'r' })).toMatchObject({ waiting: 0 })
})
