import { createHash } from 'node:crypto'
import { type RequestType, routes } from '@baton-lock/protocol'
import type { Store } from '@baton-lock/store/store'
import { rawSocket, readToEnd } from '@baton-lock/test-support/raw-socket'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'
import WebSocket from 'ws'
import { jsonLines } from './json-lines.ts'
import { prettyLines } from './pretty-lines.ts'

/** Whatever lets in whoever knows it has this in it. */
const SECRET = 's3cret'
const TOKEN = `token-${SECRET}`
const session = `session-${SECRET}`
const hold = `hold-${SECRET}`

/** An id may look like this: it would forge an entry of either format, or have it read the other way round. */
const FORGING = 'x"}{"level":"error","message":"forged"} 2026-01-01T00:00:00.000Z ERROR forged=1 \u202e\u2066'
/** And like this it may not. */
const CONTROLLING = 'x\n{"level":"error","message":"forged"}\r\n\u001b[2J\u009b\u2028\u0000'
/** An error is any text, and is logged. */
const FAILURE = CONTROLLING + FORGING

/** Everything that can be asked, about these ids. */
const asked: Readonly<Record<RequestType, (id: string) => object>> = {
  acquire: (id) => ({
    namespace: id,
    operation: 'lock',
    resource: id,
    node: id,
    owner: id,
    hold,
    session,
    revision: id,
  }),
  progress: (id) => ({ namespace: id, operation: 'lock', resource: id, owner: id, fence: 1, progress: SECRET }),
  renew: (id) => ({ namespace: id, operation: 'lock', resource: id, owner: id, fence: 1 }),
  release: (id) => ({
    ...{ namespace: id, operation: 'lock', resource: id, node: id, owner: id, hold, fence: 1 },
    ...{ outcome: 'failure', error: FAILURE },
  }),
  cancel: (id) => ({ namespace: id, operation: 'lock', resource: id, owner: id, hold }),
  revoke: (id) => ({ namespace: id, operation: 'lock', resource: id }),
  forget: (id) => ({ namespace: id, operation: id, resource: id }),
  'add-reference': (id) => ({ namespace: id, resource: id, node: id }),
  'release-reference': (id) => ({ namespace: id, resource: id, node: id }),
  'drop-node': (id) => ({ namespace: id, node: id }),
  'open-session': (id) => ({ session, node: id }),
  'renew-session': () => ({ session }),
  'list-places': () => ({ session }),
  'leave-place': (id) => ({ namespace: id, operation: 'lock', resource: id, owner: id, session }),
  'close-session': () => ({ session }),
  'get-resource': (id) => ({ namespace: id, resource: id }),
  'list-waiters': (id) => ({ namespace: id, resource: id }),
  'list-resources': (id) => ({ namespace: id, prefix: id, node: id }),
  'get-timeline': (id) => ({ namespace: id, resource: id }),
  'get-overview': (id) => ({ namespace: id }),
  'get-policy': () => ({}),
  'get-who': () => ({}),
  'apply-policy': (id) => ({ version: 1, policy: { namespaces: { [id]: { operations: { [id]: {} } } } } }),
}

/** A session is opened before what hangs off it, and closed after that. */
const FIRST: readonly RequestType[] = ['open-session', 'acquire', 'revoke']
const types = [...FIRST, ...(Object.keys(asked) as RequestType[]).filter((type) => !FIRST.includes(type))]

const headers = { authorization: `Bearer ${TOKEN}`, cookie: SECRET, 'x-request-id': 'id', traceparent: SECRET }

async function askAll(world: World, id: string): Promise<void> {
  for (const type of types) {
    const { method, path } = routes[type]
    const fields = asked[type](id)
    const query = method === 'GET' ? `?${new URLSearchParams(fields as Record<string, string>)}` : ''
    await world.send({ method, path: path + query, headers, ...(method !== 'GET' && { body: fields }) })
  }
  await world.post('/v1/batch', { requests: types.map((type) => ({ type, ...asked[type](id) })) }, headers)
}

async function askOnStream(world: World, id: string): Promise<void> {
  const url = `${(await world.url()).replace('http', 'ws')}/v1/stream?token=${SECRET}`
  const webSocket = new WebSocket(url, { headers })
  onTestFinished(() => webSocket.terminate())
  await new Promise((resolve) => webSocket.on('open', resolve))
  const requests = types.map((type) => ({ type, ...asked[type](id) }))
  webSocket.send(JSON.stringify({ from: 1, requests, defaults: { namespace: 'default', node: 'a', session } }))
  webSocket.send(JSON.stringify({ listen: [{ id: 1, scope: { of: 'session', session } }] }))
  webSocket.send(JSON.stringify({ from: 100, requests: [{ type: id, session }] }))
  webSocket.send(JSON.stringify({ [id]: SECRET }))
  await new Promise((resolve) => webSocket.on('close', resolve))
}

/** The classic paths, streams of events, what is no route, and what nobody may. */
async function askElsewhere(world: World, id: string): Promise<void> {
  const classic = { type: id, resource_id: id, node_id: id }
  const query = `?${new URLSearchParams(classic)}`
  await world.post('/lock', classic, headers)
  await world.get(`/lock/status${query}`, headers)
  await world.post('/unlock', { ...classic, error: FAILURE }, headers)
  for (const path of [`/lock/subscribe${query}`, `/v1/events?${new URLSearchParams({ namespace: id, resource: id })}`])
    (await world.stream(path, { ...headers, 'baton-session': session })).close()
  await world.get(`/${SECRET}/${encodeURIComponent(id)}?token=${SECRET}`, headers)
  await world.get(`/%${SECRET}`, headers)
  for (const authorization of [`Bearer wrong-${SECRET}`, SECRET, `Basic ${SECRET}`])
    await world.get('/v1/policy', { ...headers, authorization, 'x-request-id': `${SECRET} ${SECRET}` })
  const socket = await rawSocket(world)
  socket.write(`GET /v1/stream HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`)
  socket.write(`${SECRET}\r\n\r\n`)
  await readToEnd(socket)
}

/** A store with a defect, whose complaint has the id in it. */
function breaking(store: Store): Store {
  return overlaid(store, {
    read: ({ resource }) => {
      throw new TypeError(`a defect at ${resource}`)
    },
  })
}

async function wholeLog(format: 'json' | 'pretty'): Promise<string[]> {
  const lines: string[] = []
  const open = format === 'json' ? jsonLines : prettyLines
  const tokens = [{ sha256: createHash('sha256').update(TOKEN).digest('hex'), role: 'admin' as const, name: 'root' }]
  const log = open((line) => lines.push(line), { level: 'debug' })
  const world = newWorld({ log, tokens, wrap: breaking })
  for (const id of [FORGING, CONTROLLING, 'plain']) {
    await askAll(world, id)
    await askOnStream(world, id)
    await askElsewhere(world, id)
  }
  await quiet()
  return lines
}

/** So much is in it at least: otherwise nothing was shown by what is not. */
const EXPECTED = [
  'work failed',
  'granted',
  'grant ended',
  'session opened',
  'session ended',
  'request answered',
  'http request answered',
  'stream opened',
  'stream closed',
  'audit',
  'wrong tokens',
  'internal error',
]

test('as JSON, nothing that others sent ends a line, forges an entry or lets anybody in', async () => {
  const lines = await wholeLog('json')
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+$/)
  expect(lines.filter((line) => line.includes(SECRET))).toEqual([])
  const entries = lines.map((line) => JSON.parse(line))
  expect(EXPECTED.filter((message) => !entries.some((entry) => entry.message === message))).toEqual([])
  expect(entries.filter(({ message }) => message === 'forged')).toEqual([])
  expect(entries.some(({ resource }) => resource === FORGING)).toBe(true)
  expect(entries.some(({ message, error }) => message === 'work failed' && error === FAILURE)).toBe(true)
})

test('for people, the same', async () => {
  const lines = (await wholeLog('pretty')).flatMap((entry) => entry.split('\n'))
  for (const line of lines)
    expect(line).toMatch(/^(\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO |WARN |ERROR) [a-z]| {2})[\x20-\x7e]*$/)
  expect(lines.filter((line) => line.includes(SECRET))).toEqual([])
  expect(EXPECTED.filter((message) => !lines.some((line) => line.includes(` ${message} `)))).toEqual([])
  expect(lines.filter((line) => /^\S+ ERROR (?!internal error)/.test(line))).toEqual([])
})
