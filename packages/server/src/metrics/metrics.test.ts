import { createHash } from 'node:crypto'
import { builtInOperations, defaultNamespacePolicy } from '@baton-lock/core'
import type { Token } from '@baton-lock/protocol'
import { Service } from '@baton-lock/service'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { askOn, openWebSocket } from '@baton-lock/test-support/opened-web-socket'
import { newWorld, quiet, type World } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test, vi } from 'vitest'
import { buildApp } from '../app.ts'
import { listen } from '../lifecycle/listen.ts'
import { EventLoopDelay } from './event-loop-delay.ts'
import { families } from './families.ts'

/** The lines of the text, by what stands before their value. */
async function read(world: World): Promise<Map<string, number>> {
  const { status, body } = await world.get('/metrics')
  expect(status).toBe(200)
  const lines = (body as string).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

const ask = (world: World, node: string, more: object = {}) =>
  world.post('/v1/acquire', { operation: 'pull', resource: 'r', node, owner: node, hold: '1', ttlMs: 60_000, ...more })
const release = (world: World, node: string, more: object) =>
  world.post('/v1/release', { operation: 'pull', resource: 'r', node, owner: node, hold: '1', ...more })
const PULL = '{namespace="default",operation="pull"'

test('what has happened is counted by namespace and operation', async () => {
  const world = newWorld({ version: '1.2.3' })
  const { fence } = (await ask(world, 'a')).body
  for (const node of ['b', 'c']) await ask(world, node)
  world.clock.jump(2_000)
  await release(world, 'a', { fence, outcome: 'failure', error: 'boom' })
  const next = (await ask(world, 'b')).body.fence
  await ask(world, 'd')
  world.clock.jump(2_000)
  expect((await read(world)).get(`baton_queue_depth${PULL}}`)).toBe(2)
  await release(world, 'b', { fence: next, outcome: 'success' })
  await ask(world, 'late')
  world.clock.jump(2_000)
  const told = await read(world)
  expect(told.get(`baton_grants_total${PULL}}`)).toBe(2)
  expect(told.get(`baton_hand_overs_total${PULL}}`)).toBe(1)
  expect(told.get(`baton_skips_total${PULL}}`)).toBe(3)
  expect(told.get(`baton_outcomes_total${PULL},outcome="failure"}`)).toBe(1)
  expect(told.get(`baton_outcomes_total${PULL},outcome="success"}`)).toBe(1)
  expect(told.get(`baton_waiting_seconds_bucket${PULL},le="1"}`)).toBe(0)
  expect(told.get(`baton_waiting_seconds_bucket${PULL},le="2.5"}`)).toBe(2)
  expect(told.get(`baton_waiting_seconds_bucket${PULL},le="5"}`)).toBe(3)
  expect(told.get(`baton_waiting_seconds_count${PULL}}`)).toBe(3)
  expect(told.get(`baton_holding_seconds_sum${PULL}}`)).toBe(4)
  expect(told.get(`baton_queue_depth${PULL}}`)).toBe(0)
  expect(told.get('baton_waiters')).toBe(0)
  expect(told.get('baton_requests_total{type="acquire"}')).toBe(6)
  expect(told.get('baton_store_step_seconds_count')).toBe(8)
  expect(told.get('baton_store_up')).toBe(1)
  const build = `version="1.2.3",node_version="${process.version}",store_id="memory"`
  expect(told.get(`baton_build_info{${build}}`)).toBe(1)
})

test('there are 60 series at most for a namespace and operation, however many resources there are', async () => {
  const world = newWorld()
  const requests = Array.from({ length: 10_000 }, (_, index) => ({
    type: 'acquire',
    operation: 'pull',
    resource: `r${index}`,
    node: `n${index % 50}`,
    owner: `o${index}`,
    hold: '1',
  }))
  for (let from = 0; from < requests.length; from += 500)
    await world.post('/v1/batch', { requests: requests.slice(from, from + 500) })
  world.clock.jump(2_000)
  const told = await read(world)
  expect(told.get(`baton_grants_total${PULL}}`)).toBe(10_000)
  expect(told.get('baton_resources')).toBe(10_000)
  const ofPull = [...told.keys()].filter((line) => line.includes(PULL))
  expect(ofPull).toHaveLength(45)
  expect([...told.keys()].filter((line) => /"(r|n|o)\d+"/.test(line))).toEqual([])
  expect(told.size).toBeLessThan(45 + 60)
})

test('what the policy does not name is other, and what it names may be any text', async () => {
  const named = 'team "a" \\ b'
  const world = newWorld({
    policy: {
      namespaces: {
        default: defaultNamespacePolicy,
        [named]: { ...defaultNamespacePolicy, operations: builtInOperations },
      },
    },
  })
  await ask(world, 'a', { namespace: named })
  await ask(world, 'a', { namespace: 'made-up' })
  await world.post('/lock', { type: 'image-layer', resource_id: 'x', node_id: 'a' })
  for (const node of ['b', 'c']) await ask(world, node, { namespace: 'made-up' })
  world.clock.jump(2_000)
  const told = await read(world)
  expect(told.get('baton_grants_total{namespace="team \\"a\\" \\\\ b",operation="pull"}')).toBe(1)
  expect(told.get('baton_grants_total{namespace="other",operation="pull"}')).toBe(1)
  expect(told.get('baton_grants_total{namespace="default",operation="other"}')).toBe(1)
  expect(told.get('baton_queue_depth{namespace="other",operation="pull"}')).toBe(2)
  expect([...told.keys()].filter((line) => /made-up|image-layer/.test(line))).toEqual([])
})

test('a metric has the labels that its row says, and every metric is there', async () => {
  const world = newWorld()
  await ask(world, 'a')
  await ask(world, 'a', { operation: 'never heard of' })
  const told = await read(world)
  const labels = new Map<string, Set<string>>()
  for (const line of told.keys()) {
    const name = line.split('{')[0]!.replace(/_(bucket|sum|count)$/, '')
    const names = [...line.matchAll(/(\w+)="/g)].map(([, label]) => label!)
    labels.set(name, new Set(names.filter((label) => label !== 'le' && label !== 'quantile')))
    if (line.endsWith('_sum') || line.endsWith('_count')) expect(families[name]?.type).toMatch(/histogram|summary/)
  }
  const rows = Object.entries(families).map(([name, each]) => [name, new Set(each.labels)] as const)
  expect(labels).toEqual(new Map(rows))
})

test('where the store does not answer, that is told within a second, and so is all else', async () => {
  let isAway = false
  const world = newWorld({
    wrap: (store: Store) => {
      const counts = store.counts.bind(store)
      store.counts = () => (isAway ? new Promise(() => {}) : counts())
      return store
    },
  })
  await ask(world, 'a')
  isAway = true
  world.clock.jump(2_000)
  const reading = read(world)
  await quiet()
  await world.clock.advance(1_000)
  const told = await reading
  expect(told.get('baton_store_up')).toBe(0)
  expect(told.get(`baton_grants_total${PULL}}`)).toBe(1)
  expect([...told.keys()].filter((line) => /^baton_(resources|sessions|waiters|queue)/.test(line))).toEqual([])
})

test('two servers in one process are told apart', async () => {
  const [one, other] = [newWorld(), newWorld()]
  await ask(one, 'a')
  expect((await read(one)).get(`baton_grants_total${PULL}}`)).toBe(1)
  expect((await read(other)).has(`baton_grants_total${PULL}}`)).toBe(false)
})

test('refusals are counted once, whoever refuses: the service, a route, the guard, a stream', async () => {
  const [known, secret] = ['known', 'secret'].map((text) => createHash('sha256').update(text).digest('hex'))
  const world = newWorld({
    tokens: [
      { sha256: known!, role: 'admin' },
      { sha256: secret!, role: 'observe' },
    ],
  })
  const as = (name: string) => ({ authorization: `Bearer ${name}` })
  const asked = { operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold: '1' }
  await world.post('/v1/release', { ...asked, fence: 9, outcome: 'success' }, as('known')) // unknown-grant
  await world.post('/v1/release', { ...asked }, as('known')) // bad-request
  await world.post('/v1/acquire', asked, as('nobody')) // unauthorised
  await world.post('/v1/acquire', asked) // unauthorised
  await world.post('/v1/acquire', asked, as('secret')) // forbidden
  await world.get('/nothing', as('known')) // not-found
  await world.get('/v1/acquire', as('known')) // method-not-allowed
  const stream = await openWebSocket(world, { token: 'known' })
  expect(await askOn(stream, { type: 'acquire' })).toMatchObject({ code: 'bad-request' })
  const released = { type: 'release', ...asked, hold: '2', fence: 9, outcome: 'success' }
  expect(await askOn(stream, released)).toMatchObject({ code: 'unknown-grant' })
  expect((await openWebSocket(world, { token: 'nobody' })).status).toBe(401) // unauthorised
  const { body } = await world.get('/metrics', as('known'))
  const counted = [...(body as string).matchAll(/^baton_refusals_total\{code="([\w-]+)"\} (\d+)$/gm)]
  expect(Object.fromEntries(counted.map(([, code, count]) => [code, Number(count)]))).toEqual({
    'bad-request': 2,
    forbidden: 1,
    'method-not-allowed': 1,
    'not-found': 1,
    unauthorised: 3,
    'unknown-grant': 2,
  })
})

test('a server that was built without statistics tells the others', async () => {
  const clock = new SimulatedClock()
  const service = new Service({ store: openMemoryStore({ clock }), timers: clock })
  const app = buildApp({ service, timers: clock })
  onTestFinished(async () => {
    await app.close()
    await service.close()
  })
  const reply = await fetch(`${await listen(app, { port: 0 })}/metrics`)
  const body = await reply.text()
  expect([reply.status, body.includes('\nbaton_store_up 1\n'), body.includes('\nbaton_grants_total{')]).toEqual([
    200,
    true,
    false,
  ])
})

test('many who ask at once are told what was collected once', async () => {
  let counts = 0
  const world = newWorld({
    wrap: (store: Store) => {
      const real = store.counts.bind(store)
      store.counts = () => {
        counts++
        return real()
      }
      return store
    },
  })
  await quiet()
  world.clock.jump(5_000)
  counts = 0
  const texts = await Promise.all(Array.from({ length: 20 }, async () => (await world.get('/metrics')).body))
  expect([counts, new Set(texts).size]).toEqual([1, 1])
})

test('HEAD is answered like GET, without the text', async () => {
  const world = newWorld()
  const url = `${await world.url()}/metrics`
  const [got, head] = [await fetch(url), await fetch(url, { method: 'HEAD' })]
  for (const { status, headers } of [got, head])
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
  expect([(await got.text()).endsWith('\n'), await head.text()]).toEqual([true, ''])
})

test('a token that is bound to a namespace does not see all of them', async () => {
  const token = (secret: string, more: object): Token => ({
    sha256: createHash('sha256').update(secret).digest('hex'),
    role: 'observe',
    ...more,
  })
  const world = newWorld({ tokens: [token('one', { namespace: 'default' }), token('all', {})] })
  const statusFor = async (secret: string) =>
    (await world.get('/metrics', { authorization: `Bearer ${secret}` })).status
  expect([await statusFor('one'), await statusFor('all')]).toEqual([403, 200])
})

test('how late the event loop is: nothing at first, then of the last period, and in all', async () => {
  let nowMs = 0
  const delay = new EventLoopDelay(() => nowMs)
  expect(delay.read()).toEqual({ quantiles: [], sum: 0, count: 0 })
  await vi.waitFor(() => {
    nowMs += 10_000
    expect(delay.read().count).toBeGreaterThan(0)
  })
  const first = delay.read()
  expect(first.quantiles.map(({ quantile }) => quantile)).toEqual([0.5, 0.9, 0.99, 1])
  // Within the period the same is told to everybody.
  nowMs += 9_999
  expect(delay.read()).toBe(first)
  // It has to have looked again before something comes in between: it compares with the last time.
  let waited = 0
  await vi.waitFor(() => expect(++waited).toBeGreaterThan(2))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 80)
  await quiet()
  nowMs += 1
  expect(delay.read().quantiles.at(-1)!.delay).toBeGreaterThan(0.03)
  expect(delay.read().count).toBeGreaterThan(first.count)
  expect(delay.read().sum).toBeGreaterThan(first.sum)
  delay.stop()
})
