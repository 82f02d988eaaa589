import { defaultNamespacePolicy, plainOperation } from '@baton-lock/core'
import { newWorld, type World } from '@baton-lock/test-support/server-world'
import { expect, test } from 'vitest'

const ask = (world: World, node: string, more: object = {}) =>
  world.post('/v1/acquire', { operation: 'pull', resource: 'r', node, owner: node, hold: '1', ttlMs: 60_000, ...more })
const report = (world: World, node: string, more: object) =>
  world.post('/v1/release', { operation: 'pull', resource: 'r', node, owner: node, hold: '1', ...more })

/** One fails, the next one succeeds, one who waited is told, one who comes late skips. */
async function play(world: World): Promise<void> {
  const { fence } = (await ask(world, 'a')).body
  await ask(world, 'b')
  await ask(world, 'c')
  world.clock.jump(2_000)
  await report(world, 'a', { fence, outcome: 'failure', error: 'boom' })
  const claimed = (await ask(world, 'b')).body
  world.clock.jump(1_000)
  await report(world, 'b', { fence: claimed.fence, outcome: 'success' })
  expect((await ask(world, 'late')).body.status).toBe('skip')
}

test('the timeline of a resource shows its grants, hand-overs and skips', async () => {
  const world = newWorld()
  await play(world)
  const { body } = await world.get('/v1/timeline?resource=r')
  expect(body.nowMs).toBe(world.store.nowMs())
  expect(body.grants).toMatchObject([
    { node: 'a', attempt: 1, outcome: 'failure', error: 'boom', handOver: false, skips: 0 },
    { node: 'b', attempt: 2, outcome: 'success', handOver: true, waitedMs: 2_000, skips: 2 },
  ])
  const [, second] = body.grants
  expect(second.endedAtMs - second.grantedAtMs).toBe(1_000)
  expect((await world.get('/v1/timeline?resource=r&namespace=other')).body.grants).toEqual([])
})

test('the overview counts what has happened, in all and in one namespace', async () => {
  const world = newWorld({ version: '1.2.3' })
  const sinceMs = world.store.nowMs()
  await play(world)
  await ask(world, 'd', { namespace: 'other', resource: 's' })
  const { body } = await world.get('/v1/overview')
  const totals = { grants: 3, handOvers: 1, skips: 2, successes: 1, failures: 1, expired: 0 }
  expect(body).toMatchObject({ status: 'overview', sinceMs, stepMs: 5_000, totals, nowMs: sinceMs + 3_000 })
  expect(body.counts).toMatchObject({ resources: 2, grants: 1, waiters: 0 })
  expect(body.points).toHaveLength(1)
  expect(body.points[0]).toMatchObject({ ...totals, waiting: 0, waitedMs: { p50: 2_015, p99: 3_007 } })
  const other = (await world.get('/v1/overview?namespace=other')).body
  expect(other.totals).toMatchObject({ grants: 1, skips: 0 })
  expect(other).not.toHaveProperty('counts')
})

test('many who look cost the store one count in two seconds', async () => {
  let counts = 0
  const world = newWorld({
    wrap: (store) => {
      const real = store.counts.bind(store)
      store.counts = () => {
        counts++
        return real()
      }
      return store
    },
  })
  await Promise.all(Array.from({ length: 20 }, () => world.get('/v1/overview')))
  expect(counts).toBe(1)
  world.clock.jump(1_999)
  await world.get('/v1/overview?namespace=x')
  expect(counts).toBe(1)
  world.clock.jump(1)
  await world.get('/v1/overview')
  expect(counts).toBe(2)
})

test('how long an operation usually takes is said to those who wait for it', async () => {
  const world = newWorld()
  for (let round = 0; round < 5; round++) {
    const { fence } = (await ask(world, 'a', { operation: 'lock', hold: `${round}` })).body
    world.clock.jump(1_000)
    await report(world, 'a', { operation: 'lock', hold: `${round}`, fence, outcome: 'success' })
  }
  await ask(world, 'a', { operation: 'lock', hold: 'last' })
  await ask(world, 'b', { operation: 'lock' })
  const { body } = await world.get('/v1/resource?resource=r')
  expect(body.resource.why[0].reasons[0]).toMatchObject({ why: 'held', node: 'a', usualMs: 1_000 })
})

test('what a policy names that another process has applied is counted by name in time', async () => {
  const world = newWorld()
  const namespaces = {
    default: defaultNamespacePolicy,
    team: { ...defaultNamespacePolicy, operations: { bake: plainOperation } },
  }
  const { version } = await world.store.policy()
  await world.store.applyPolicy({ namespaces }, version)
  world.clock.jump(2_000)
  await world.get('/v1/overview')
  await ask(world, 'a', { namespace: 'team', operation: 'bake' })
  expect([...world.statistics.series()]).toMatchObject([{ namespace: 'team', operation: 'bake', grants: 1 }])
})
