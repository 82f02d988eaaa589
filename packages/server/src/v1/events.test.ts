import { newWorld, quiet } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const key = { operation: 'pull', resource: 'x' }
const success = { ...key, owner: 'a', fence: 1, outcome: 'success' }

test('a stream first tells the present state, then what happens', async () => {
  const { stream, post } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/acquire', { ...key, node: 'b' })
  const b = await stream('/v1/events?resource=x&operation=pull&owner=b')
  await b.until(() => b.events().length === 1)
  expect(b.status).toBe(200)
  expect(b.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  })
  expect(b.text()).toMatch(/^retry: 1000\n\nid: \S+\nevent: state\ndata: \{/)
  expect(b.events()[0]).toEqual({ type: 'state', of: 'ask', standing: { status: 'queued', position: 1 } })
  await post('/v1/release', success)
  await b.until(() => b.events().length === 2)
  expect(b.events()[1]).toMatchObject({ type: 'told', answer: { status: 'skip', by: 'a' } })
})

test('an outcome between asking and listening is the state that the stream begins with', async () => {
  const { stream, post } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/acquire', { ...key, node: 'b' })
  await post('/v1/release', success)
  const b = await stream('/v1/events?resource=x&operation=pull&owner=b')
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject({ type: 'state', standing: { status: 'skip', by: 'a' } })
})

test('a resource, a namespace and everything can be watched', async () => {
  const { stream, post } = newWorld()
  const all = await stream('/v1/events')
  const one = await stream('/v1/events?resource=x')
  const other = await stream('/v1/events?namespace=other')
  for (const open of [all, one, other]) await open.until(() => open.events().length === 1)
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/acquire', { ...key, resource: 'y', node: 'a' })
  await post('/v1/acquire', { ...key, namespace: 'other', node: 'a' })
  await all.until(() => all.events().length === 4)
  await other.until(() => other.events().length === 2)
  await quiet()
  expect(all.events().map(({ type }) => type)).toEqual(['state', 'granted', 'granted', 'granted'])
  expect(one.events()).toMatchObject([
    { of: 'resource', view: null },
    { type: 'granted', resource: 'x' },
  ])
  expect(other.events()).toMatchObject([{ of: 'all' }, { type: 'granted', namespace: 'other' }])
})

test('a session is named in a header, and hears of all of its places', async () => {
  const { stream, post } = newWorld()
  await post('/v1/sessions/open', { session: 's1', node: 'b' })
  await post('/v1/acquire', { ...key, node: 'a' })
  await post('/v1/acquire', { ...key, node: 'b', owner: 'b1', session: 's1' })
  const b = await stream('/v1/events', { 'Baton-Session': 's1' })
  await b.until(() => b.events().length === 1)
  expect(b.events()[0]).toMatchObject({
    of: 'session',
    alive: true,
    places: [{ operation: 'pull', resource: 'x', owner: 'b1', standing: { status: 'queued' } }],
  })
  await post('/v1/release', { ...success, outcome: 'failure' })
  await b.until(() => b.events().length === 2)
  expect(b.events()[1]).toMatchObject({ type: 'granted', handOver: true, owner: 'b1', fence: 2 })
  expect(b.text()).not.toContain('s1')
})

test('a stream that comes back with Last-Event-ID is told exactly what it missed', async () => {
  const { stream, post } = newWorld()
  const first = await stream('/v1/events')
  await first.until(() => first.events().length === 1)
  await post('/v1/acquire', { ...key, node: 'a' })
  await first.until(() => first.events().length === 2)
  first.close()
  await post('/v1/acquire', { ...key, node: 'b' })
  await post('/v1/release', { ...success, outcome: 'failure' })
  const second = await stream('/v1/events', { 'Last-Event-ID': first.ids().at(-1)! })
  await second.until(() => second.events().length === 3)
  expect(second.events().map(({ type }) => type)).toEqual(['queued', 'ended', 'granted'])
  expect(new Set([...first.ids(), ...second.ids()]).size).toBe(5)
})

test('an id that is no longer known is answered by a reset and the present state', async () => {
  const { stream } = newWorld()
  for (const id of ['zzz-1', 'garbage', '-', 'null']) {
    const open = await stream('/v1/events?resource=x', { 'Last-Event-ID': id })
    await open.until(() => open.events().length === 2)
    expect(open.events().map(({ type }) => type)).toEqual(['reset', 'state'])
  }
})

test('an open stream keeps a place in line that has no session', async () => {
  const { stream, post, clock, get } = newWorld()
  await post('/v1/acquire', { ...key, node: 'a', ttlMs: 3_600_000 })
  for (const node of ['b', 'c']) await post('/v1/acquire', { ...key, node })
  await clock.advance(55_000)
  const b = await stream('/v1/events?resource=x&operation=pull&owner=b')
  await b.until(() => b.events().length === 1)
  await clock.advance(120_000)
  const { body } = await get('/v1/resource?resource=x')
  expect(body.resource.waiters.map(({ node }: { node: string }) => node)).toEqual(['b'])
})

test('a heartbeat every 15 s shows that the stream lives', async () => {
  const { stream, clock } = newWorld()
  const one = await stream('/v1/events')
  const two = await stream('/v1/events')
  for (const open of [one, two]) await open.until(() => open.events().length === 1)
  for (let beat = 1; beat <= 3; beat++) {
    await clock.advance(15_000)
    for (const open of [one, two]) await open.until(() => open.text().split('\n:\n').length === beat + 1)
  }
})
