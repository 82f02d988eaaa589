import type { Facts } from '@baton-lock/core'
import { QUOTAS, type Quota } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { expect, test } from 'vitest'
import { Service } from '../service.ts'

function newWorld(quotas: { node?: Partial<Quota>; token?: Partial<Quota> }) {
  const clock = new SimulatedClock()
  const { node, token } = QUOTAS
  const service = new Service({
    store: openMemoryStore({ clock }),
    timers: clock,
    quotas: { node: { ...node, ...quotas.node }, token: { ...token, ...quotas.token } },
  })
  const key = (node: string, resource: string) => {
    return { namespace: 'default', operation: 'lock', resource, node, owner: 'o', hold: 'h' }
  }
  return {
    clock,
    service,
    ask: (node: string, resource: string, facts?: Facts) =>
      service.call({ type: 'acquire', ...key(node, resource), ttlMs: 30_000 }, facts),
    release: (node: string, resource: string) =>
      service.call({ type: 'release', ...key(node, resource), outcome: 'cancelled' } as never),
    refer: (node: string, resource: string, facts?: Facts) =>
      service.call({ type: 'add-reference', namespace: 'default', resource, node }, facts),
    open: (node: string, session: string, facts?: Facts) =>
      service.call({ type: 'open-session', session, node, ttlMs: 10_000 }, facts),
  }
}

const tooMuch = { status: 'refused', code: 'quota-exceeded', message: expect.any(String) }

test('a node has so many grants and places in line at a time; another one has its own', async () => {
  const { ask, release, service } = newWorld({ node: { places: 2 } })
  await ask('other', 'busy')
  expect(await ask('n', 'busy')).toMatchObject({ status: 'queued' })
  expect(await ask('n', 'a')).toMatchObject({ status: 'granted' })
  expect(await ask('n', 'b')).toEqual(tooMuch)
  expect(await ask('n', 'a')).toMatchObject({ status: 'granted' })
  expect(await ask('other', 'b')).toMatchObject({ status: 'granted' })
  await release('n', 'a')
  expect(await ask('n', 'c')).toMatchObject({ status: 'granted' })
  // A place in line that is granted is the same place; claimed, it is still the same.
  await release('other', 'busy')
  expect(await ask('n', 'busy')).toMatchObject({ status: 'granted' })
  expect(await ask('n', 'd')).toEqual(tooMuch)
  expect(await service.counts()).toMatchObject({ grants: 3 })
})

test('what has run out makes room', async () => {
  const { ask, clock } = newWorld({ node: { places: 1 } })
  await ask('n', 'a')
  expect(await ask('n', 'b')).toEqual(tooMuch)
  await clock.advance(31_000)
  expect(await ask('n', 'b')).toMatchObject({ status: 'granted' })
})

test('a node uses so many resources at a time', async () => {
  const { refer, service } = newWorld({ node: { references: 2 } })
  for (const resource of ['a', 'b']) await refer('n', resource)
  expect(await refer('n', 'c')).toEqual(tooMuch)
  expect(await refer('n', 'b')).toMatchObject({ status: 'references' })
  await service.call({ type: 'release-reference', namespace: 'default', resource: 'a', node: 'n' })
  expect(await refer('n', 'c')).toMatchObject({ status: 'references' })
})

test('a node has so many sessions; those that it has it may open again, and one that ends makes room', async () => {
  const { open, clock } = newWorld({ node: { sessions: 2 } })
  for (const session of ['s', 't']) await open('n', session)
  expect(await open('n', 'u')).toEqual(tooMuch)
  expect(await open('n', 't')).toMatchObject({ status: 'alive' })
  await clock.advance(5_000)
  await open('n', 't')
  await clock.advance(6_000)
  expect(await open('n', 'u')).toMatchObject({ status: 'alive' })
})

test.each([2, 6])('a token has one quota for all of its %i nodes', async (count) => {
  const { ask, open, refer, clock } = newWorld({ token: { places: 3, sessions: 3, references: 3 } })
  const actsFor = Array.from({ length: count }, (_, index) => `n${index}`)
  for (let index = 0; index < 3; index++) {
    const node = actsFor[index % 2]!
    expect(await ask(node, `r${index}`, { actsFor })).toMatchObject({ status: 'granted' })
    expect(await open(node, `s${index}`, { actsFor })).toMatchObject({ status: 'alive' })
    expect(await refer(node, `r${index}`, { actsFor })).toMatchObject({ status: 'references' })
  }
  await clock.advance(1_000)
  expect(await ask('n0', 'more', { actsFor })).toEqual(tooMuch)
  expect(await open('n0', 'more', { actsFor })).toEqual(tooMuch)
  expect(await refer('n0', 'more', { actsFor })).toEqual(tooMuch)
  expect(await ask('n0', 'more')).toMatchObject({ status: 'granted' })
})

test('the nodes of a pattern have the quota of a token together', async () => {
  const { ask, clock, open, refer } = newWorld({ token: { places: 3, sessions: 2, references: 1 } })
  const facts = { actsFor: ['db', 'api-*'] }
  await ask('web-1', 'w', {})
  for (const [index, node] of ['db', 'api-1', 'api-2'].entries())
    expect(await ask(node, `r${index}`, facts)).toMatchObject({ status: 'granted' })
  for (const node of ['api-1', 'api-2']) expect(await open(node, node, facts)).toMatchObject({ status: 'alive' })
  expect(await refer('api-1', 'x', facts)).toMatchObject({ status: 'references' })
  // It is summed up once a second.
  await clock.advance(1_000)
  expect(await ask('api-3', 'r9', facts)).toEqual(tooMuch)
  expect(await open('api-3', 's9', facts)).toEqual(tooMuch)
  expect(await refer('api-3', 'y', facts)).toEqual(tooMuch)
  expect(await ask('web-2', 'v', { actsFor: ['web-*'] })).toMatchObject({ status: 'granted' })
})
