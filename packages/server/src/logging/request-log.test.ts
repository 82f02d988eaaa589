import type { Store } from '@baton-lock/store/store'
import { openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const key = { operation: 'lock', resource: 'r' }
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const traceparent = `00-${traceId}-${spanId}-01`

/** The status and the id of a POST. */
async function posted(world: World, path: string, body: object, headers: Record<string, string> = {}) {
  const { status, headers: answered } = await world.post(path, body, headers)
  return { status, requestId: answered['x-request-id'] }
}

/** A store that has a defect. */
function broken(store: Store): Store {
  const fail = () => {
    throw new TypeError('a defect')
  }
  return overlaid(store, { read: fail, step: fail, standing: fail })
}

/** Asks all of this on a WebSocket, in one frame; the id of its upgrade. */
async function streamed(world: World, requests: readonly object[], headers = {}): Promise<{ requestId: unknown }> {
  const opened = await openWebSocket(world, { headers })
  opened.webSocket.send(JSON.stringify({ from: 1, requests }))
  await opened.until(() => opened.frames.flatMap(({ replies = [] }) => replies).length === requests.length)
  opened.webSocket.close()
  return { requestId: opened.headers['x-request-id'] }
}

test.each(['abc-1', 'Root=1-67891233-abcdef012345678912345678', 'x'.repeat(64)])(
  'the id %s that a client has given its request comes back, on every path',
  async (id) => {
    const world = newWorld()
    const headers = { 'x-request-id': id }
    expect((await posted(world, '/v1/acquire', { ...key, node: 'a' }, headers)).requestId).toBe(id)
    expect((await posted(world, '/v1/acquire', {}, headers)).requestId).toBe(id)
    expect((await world.get('/healthz', headers)).headers['x-request-id']).toBe(id)
    expect((await world.get('/nowhere', headers)).headers['x-request-id']).toBe(id)
    expect((await world.get('/%', headers)).headers['x-request-id']).toBe(id)
    const stream = await world.stream('/v1/events', headers)
    stream.close()
    expect(stream.headers['x-request-id']).toBe(id)
    expect(await streamed(world, [{ type: 'get-policy' }], headers)).toEqual({ requestId: id })
  },
)

test.each(['', 'a b', 'x'.repeat(65), '<script>', 'ü', 'a,b'])('%j is no id: the server makes one', async (given) => {
  const world = newWorld()
  const headers = { 'x-request-id': given }
  const { headers: answered } = await world.get('/healthz', headers)
  expect(answered['x-request-id']).toMatch(/^\d+$/)
})

test('every answer has an id, and those that the server makes are different', async () => {
  const world = newWorld()
  const ids = [
    (await world.get('/healthz')).headers['x-request-id'],
    (await posted(world, '/v1/acquire', { ...key, node: 'a' })).requestId,
    (await posted(world, '/v1/acquire', {})).requestId,
  ]
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^\d+$/)
})

test('what goes wrong while a request is answered is found by its id and its trace, on whatever way it came', async () => {
  const { log, entries } = recordedLog()
  const world = newWorld({ wrap: broken, log })
  const headers = { 'x-request-id': 'mine', traceparent }
  const ask = { type: 'acquire', ...key, node: 'a', hold: 'h' }
  await world.post('/v1/acquire', { ...key, node: 'a' }, headers)
  await world.get('/v1/resource?resource=r', headers)
  await world.post('/v1/batch', { requests: [ask] }, headers)
  await world.get('/lock/status?type=pull&resource_id=r&node_id=n', headers)
  const failed = entries.map(([level, message, { error, ...fields }]) => [level, message, String(error), fields])
  const name = { requestId: 'mine', traceId, spanId }
  expect(failed).toHaveLength(4)
  for (const each of failed)
    expect(each).toEqual(['error', 'internal error', expect.stringMatching(/^TypeError: a defect\n/), name])
})

test('on a stream it is found by the stream and the number of the request', async () => {
  const { log, entries } = recordedLog()
  const world = newWorld({ wrap: broken, log })
  const ask = { type: 'acquire', ...key, node: 'a', hold: 'h' }
  await streamed(world, [{ type: 'get-policy' }, ask])
  await streamed(world, [{ type: 'get-resource', resource: 'r' }])
  expect(entries.map(([, message, { stream, request }]) => [message, stream, request])).toEqual([
    ['internal error', '2', 2],
    ['internal error', '4', 1],
  ])
})

test('what operators do is written down with the id of its request; on a stream, with that and the number', async () => {
  const { log, entries } = recordedLog()
  const world = newWorld({ log })
  const policy = { version: 1, policy: { namespaces: {} } }
  const headers = { 'x-request-id': 'op', traceparent }
  await world.send({ method: 'PUT', path: '/v1/policy', body: policy, headers })
  await world.post('/v1/batch', { requests: [{ type: 'drop-node', node: 'b' }] }, headers)
  const ask = { type: 'acquire', ...key, node: 'a', hold: 'h' }
  await streamed(world, [ask, { type: 'revoke', ...key }])
  const name = { requestId: 'op', traceId, spanId }
  expect(entries.map(([level, message, fields]) => [`${level} ${message}`, fields])).toMatchObject([
    ['info audit', { ...name, what: 'apply-policy', versionBefore: 1, version: 2, answer: 'policy' }],
    ['info audit', { ...name, what: 'drop-node', node: 'b', answer: 'dropped' }],
    ['info audit', { stream: '2', request: 2, what: 'revoke', answer: 'revoked' }],
  ])
})

test('at debug, every request, grant, session and stream is written down', async () => {
  const { log, entries } = recordedLog({ isDebug: true })
  const world = newWorld({ log })
  await posted(world, '/v1/sessions/open', { session: 's', node: 'a' }, { 'x-request-id': 'mine', traceparent })
  await streamed(
    world,
    [
      { type: 'acquire', ...key, node: 'a', hold: 'h', session: 's' },
      { type: 'close-session', session: 's' },
    ],
    { 'x-request-id': 'upgrade' },
  )
  while (!entries.some(([, message]) => message === 'stream closed')) await quiet()
  const name = { requestId: 'mine', traceId, spanId }
  const session = { sessionTag: '043a7187' }
  const grant = { namespace: 'default', ...key, node: 'a', owner: 'a', fence: 1, attempt: 1 }
  const [, , { stream }] = entries.find(([, message]) => message === 'stream opened')!
  const expected: [string, object][] = [
    ['session opened', session],
    ['request answered', { ...name, type: 'open-session', node: 'a', ...session, status: 'alive' }],
    ['http request answered', { ...name, method: 'POST', path: '/v1/sessions/open', status: 200 }],
    ['stream opened', { requestId: 'upgrade', stream, who: 'anybody' }],
    ['granted', grant],
    [
      'request answered',
      {
        stream,
        request: 1,
        type: 'acquire',
        namespace: 'default',
        ...key,
        node: 'a',
        owner: 'a',
        ...session,
        status: 'granted',
        fence: 1,
      },
    ],
    ['session ended', { ...session, how: 'left' }],
    ['grant ended', { ...grant, outcome: 'cancelled' }],
    ['request answered', { stream, request: 2, type: 'close-session', ...session, status: 'closed' }],
    ['stream closed', { stream }],
  ]
  // What a frame asks for is done together, and then answered.
  expect(entries).toHaveLength(expected.length)
  for (const [message, fields] of expected)
    expect(entries).toContainEqual([
      'debug',
      message,
      message === 'grant ended' ? expect.objectContaining(fields) : fields,
    ])
})
