import { newPageWorld, type PageWorld } from '@baton-lock/test-support/page-world'
import { describe, expect, test } from 'vitest'
import { nameOf } from './name.ts'
import { routeFrom } from './route.ts'

const ask = (resource: string, node = 'a', more = {}) =>
  ({ type: 'acquire', operation: 'lock', resource, node, hold: 'h', ttlMs: 60_000, ...more }) as const
const release = (resource: string, owner: string, fence: number) =>
  ({ type: 'release', operation: 'lock', resource, owner, hold: 'h', fence, outcome: 'success' }) as const
const named = (resource: string) => nameOf({ namespace: 'default', resource })
const ids = ({ dashboard }: PageWorld) => dashboard.selection.value.names.map((name) => name.split('\n')[1])

async function connected(world = newPageWorld()): Promise<PageWorld> {
  world.dashboard.start()
  await world.pass(100)
  return world
}

describe('a page that is connected', () => {
  test('reads what there is, those who hold or wait first', async () => {
    const world = newPageWorld()
    await world.call(ask('b'))
    await world.call(ask('a'))
    await world.call(ask('b', 'second'))
    await connected(world)
    expect(ids(world)).toEqual(['b', 'a'])
    await world.pass(6_000)
    expect(world.dashboard.overview.value?.counts).toMatchObject({ grants: 2, waiters: 1 })
    expect(world.dashboard.listing.loading.value).toEqual({ state: 'all' })
  })

  test('sees what happens: a new holder, a waiter, a hand-over, the end', async () => {
    const world = await connected()
    const { dashboard } = world
    const row = () => dashboard.rows.get(named('r'))?.view
    const { fence } = await world.call(ask('r', 'a'))
    await world.pass(600)
    expect(row()?.grants).toMatchObject([{ node: 'a' }])
    await world.call(ask('r', 'b'))
    await world.pass(600)
    expect(row()).toMatchObject({ waiting: 1, why: [{ reasons: [{ why: 'held', node: 'a' }] }] })
    await world.call(release('r', 'a', fence))
    await world.call(ask('r', 'b'))
    await world.pass(600)
    expect(row()).toMatchObject({ waiting: 0, grants: [{ node: 'b', claimed: true }] })
    expect(dashboard.feed.items.value.map(({ event }) => event.type)).toEqual([
      'claimed',
      'granted',
      'ended',
      'queued',
      'granted',
    ])
    await world.call(release('r', 'b', fence + 1))
    await world.pass(90_000)
    expect(ids(world)).toEqual([])
  })

  test('reads a renewal, of which no event tells', async () => {
    const world = await connected()
    const { fence } = await world.call(ask('r'))
    await world.pass(600)
    world.dashboard.refresher.show([named('r')])
    const lease = () => world.dashboard.rows.get(named('r'))?.view.grants[0]?.expiresAtMs
    const before = lease()!
    await world.pass(2_000)
    await world.call({ type: 'renew', operation: 'lock', resource: 'r', owner: 'a', fence })
    await world.pass(3_500)
    expect(lease()).toBeGreaterThan(before)
  })

  test('asks little of a server on which very much happens', async () => {
    const world = await connected()
    for (let round = 0; round < 20; round++) {
      for (let each = 0; each < 100; each++) await world.call(ask(`r${round}-${each}`, 'a', { ttlMs: 3_600_000 }))
      await world.pass(500)
    }
    world.asked.length = 0
    await world.pass(10_000)
    const count = (type: string) => world.asked.filter((each) => each === type).length
    expect(count('get-resource')).toBeLessThanOrEqual(20 * 75)
    expect(count('get-overview')).toBeLessThanOrEqual(6)
    expect(world.dashboard.feed.items.value.length).toBeLessThanOrEqual(400)
  })

  test('asks next to nothing while nobody looks', async () => {
    const world = await connected()
    await world.call(ask('r', 'a', { ttlMs: 3_600_000 }))
    await world.pass(1_000)
    world.dashboard.isVisible = false
    world.asked.length = 0
    await world.pass(60_000)
    expect(world.asked.length).toBeLessThanOrEqual(20)
    world.dashboard.isVisible = true
    await world.pass(1_000)
    expect(world.dashboard.shownMs.value).toBeGreaterThan(world.clock.nowMs() - 1_000)
  })

  test('shows one resource with its history, and all who wait where they are wanted', async () => {
    const world = newPageWorld()
    const { dashboard } = world
    await world.call(ask('r', 'first'))
    for (let each = 0; each < 1_200; each++) await world.call(ask('r', `n${each}`))
    await connected(world)
    dashboard.go(routeFrom('#/r/default/r'))
    await world.pass(100)
    const detail = () => dashboard.detail.view.value!
    expect(detail().row?.view.waiting).toBe(1_200)
    expect(detail().waiters).toHaveLength(100)
    expect(detail().grants).toMatchObject([{ node: 'first', handOver: false }])
    dashboard.detail.wantsWhole = true
    await world.pass(1_000)
    expect(detail().waiters).toHaveLength(1_200)
    expect(detail().waiters.at(-1)?.node).toBe('n1199')
  })

  test('does what an operator wants, and says what could not be done', async () => {
    const world = await connected()
    const { fence } = await world.call(ask('held'))
    const revoke = (resource: string, of: number) => ({
      request: { type: 'revoke', namespace: 'default', resource, operation: 'lock', fence: of } as const,
      about: resource,
    })
    const deeds = world.dashboard.deeds([revoke('held', fence), revoke('free', 1), revoke('gone', 2)])
    await deeds.run()
    expect(deeds.progress.value).toMatchObject({
      total: 3,
      done: 3,
      state: 'done',
      failures: [{ code: 'unknown-grant', count: 2, about: 'free' }],
    })
    await world.pass(600)
    expect(world.dashboard.rows.get(named('held'))?.view.recent).toMatchObject([{ outcome: { outcome: 'revoked' } }])
  })
})

test('a server whose store is away is said to be in trouble, and only while it is', async () => {
  const world = await connected()
  world.isStoreAway = true
  await world.pass(3_000)
  expect(world.dashboard.trouble.value).toMatch(/The store cannot be reached/)
  world.isStoreAway = false
  await world.pass(3_000)
  expect(world.dashboard.trouble.value).toBeUndefined()
})

describe('a page that is not connected', () => {
  test('comes back by itself, later each time, and reads again', async () => {
    const world = await connected()
    const { contact } = world.dashboard.stream
    world.who = () => {
      throw new Error('nobody listens')
    }
    world.cut()
    expect(contact.value).toMatchObject({ state: 'lost', why: 'the connection ended' })
    await world.pass(500)
    expect(contact.value).toMatchObject({ state: 'lost', why: 'the server does not answer (nobody listens)' })
    await world.pass(30_000)
    await world.call(ask('meanwhile'))
    world.who = () => ({ status: 'who', role: 'anybody' })
    await world.pass(16_000)
    expect(contact.value).toMatchObject({ state: 'live' })
    expect(ids(world)).toEqual(['meanwhile'])
  })

  test('leaves a server that is about to stop once it has its answers, and comes back', async () => {
    const world = await connected()
    const { contact } = world.dashboard.stream
    const asked = world.dashboard.stream.request({ type: 'get-policy' })
    world.drain()
    expect(await asked).toMatchObject({ status: 'policy' })
    await world.pass(0)
    expect(contact.value).toMatchObject({ state: 'lost', why: 'the server is about to stop' })
    await world.pass(500)
    expect(contact.value).toMatchObject({ state: 'live' })
  })

  test('asks for a token where the server wants one, and does not try again until there is one', async () => {
    const world = newPageWorld()
    const refusal = { status: 'refused', code: 'unauthorised', message: 'A token is needed.' } as const
    let tries = 0
    world.who = () => {
      tries++
      return refusal
    }
    await connected(world)
    await world.pass(60_000)
    expect(world.dashboard.stream.contact.value).toEqual({ state: 'signed-out', why: 'A token is needed.' })
    expect(tries).toBe(1)
    world.who = () => ({ status: 'who', role: 'observe' })
    await world.dashboard.stream.connect()
    await world.pass(100)
    expect(world.dashboard.stream.contact.value).toMatchObject({ state: 'live' })
    expect(world.dashboard.mayAct).toBe(false)
  })

  test('what was asked fails, and is not repeated by itself', async () => {
    const world = await connected()
    const asked = world.dashboard.stream.request({ type: 'get-policy' })
    world.cut()
    await expect(asked).rejects.toThrow('the connection ended')
    await expect(world.dashboard.stream.request({ type: 'get-policy' })).rejects.toThrow('not connected')
  })
})
