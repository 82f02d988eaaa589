import type { Acquire, WaitReason } from '@baton-lock/core'
import type { ServiceRequest } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { expect, onTestFinished, test } from 'vitest'
import { Service } from '../service.ts'

function newWorld() {
  const clock = new SimulatedClock()
  const memory = openMemoryStore({ clock })
  let looks = 0
  const counted: Partial<Store> = {
    contention: (...asked) => {
      looks++
      return memory.contention(...asked)
    },
    places: (...asked) => {
      looks++
      return memory.places(...asked)
    },
  }
  const service = new Service({ store: overlaid(memory, counted), timers: clock })
  onTestFinished(() => service.close())
  const call = (request: object) => service.call(request as ServiceRequest)
  const open = (...nodes: string[]) =>
    Promise.all(nodes.map((node) => call({ type: 'open-session', session: node, node, ttlMs: 600_000 })))
  let holds = 0
  const ask = (node: string, resource: string, more: Partial<Acquire> & { readonly namespace?: string } = {}) => {
    const hold = `${++holds}`
    const asked = { namespace: 'default', resource, operation: 'lock', node, owner: `${node}-${hold}`, hold }
    return call({ type: 'acquire', ...asked, session: node, ttlMs: 60_000, ...more })
  }
  const look = async (resource: string, more: object = {}) => {
    const reply = await service.call({ type: 'get-resource', namespace: 'default', resource, ...more })
    return reply.status === 'resource' ? (reply.resource.why ?? []).flatMap(({ reasons }) => reasons) : []
  }
  const cycles = async (resource: string, more?: object): Promise<readonly WaitReason[]> =>
    (await look(resource, more)).filter(({ why }) => why === 'cycle')
  return { clock, open, ask, call, cycles, looks: () => looks }
}

const link = (node: string, holds: string, fence: number, waitsFor: string) => ({
  node,
  holds: { operation: 'lock', resource: holds, fence },
  waitsFor: { operation: 'lock', resource: waitsFor },
})

test('two clients that wait for one another, seen from both sides and by those behind them', async () => {
  const { clock, open, ask, cycles } = newWorld()
  await open('a', 'b', 'c')
  await ask('a', 'x')
  await ask('b', 'y')
  await clock.advance(100)
  await ask('a', 'y')
  await ask('b', 'x')
  await ask('c', 'x')
  expect(await cycles('x')).toEqual([])
  await clock.advance(3_000)
  const [ofA, ofB] = [link('a', 'x', 1, 'y'), link('b', 'y', 1, 'x')]
  expect(await cycles('x')).toEqual([{ why: 'cycle', links: [ofA, ofB], certain: false, forMs: 3_000 }])
  expect(await cycles('y')).toEqual([{ why: 'cycle', links: [ofB, ofA], certain: false, forMs: 3_000 }])
})

test('it is certain where each waits under the owner that it holds by', async () => {
  const { clock, open, ask, cycles } = newWorld()
  await open('a', 'b')
  await ask('a', 'x', { owner: 'task' })
  await ask('b', 'y', { owner: 'task' })
  await ask('a', 'y', { owner: 'task' })
  await ask('b', 'x', { owner: 'task' })
  await clock.advance(1_000)
  expect(await cycles('x')).toMatchObject([{ certain: true }])
})

test('three clients in a circle, also seen by those who wait for one that waits for them', async () => {
  const { clock, open, ask, cycles } = newWorld()
  await open('a', 'b', 'c', 'd', 'e')
  const held = { a: 'x', b: 'y', c: 'z', d: 'w' }
  for (const [node, resource] of Object.entries(held)) await ask(node, resource)
  const wanted = { a: 'y', b: 'z', c: 'x', d: 'x', e: 'w' }
  for (const [node, resource] of Object.entries(wanted)) await ask(node, resource)
  await clock.advance(2_000)
  const links = [link('a', 'x', 1, 'y'), link('b', 'y', 1, 'z'), link('c', 'z', 1, 'x')]
  expect(await cycles('x')).toMatchObject([{ links }])
  expect(await cycles('w')).toMatchObject([{ links }])
  expect(await cycles('z')).toMatchObject([{ links: [links[2], links[0], links[1]] }])
})

test('a client that waits for what it holds itself, or waited before it held, is in no cycle', async () => {
  const { clock, open, ask, call, cycles } = newWorld()
  await open('a', 'b')
  await ask('a', 'x')
  await ask('a', 'x')
  await clock.advance(2_000)
  expect(await cycles('x')).toEqual([])
  // b waits for x since before it has held y.
  await ask('b', 'x')
  await clock.advance(5_000)
  await ask('b', 'y')
  await ask('a', 'y')
  await clock.advance(2_000)
  expect(await cycles('x')).toEqual([])
  await call({ type: 'close-session', session: 'a' })
})

test('other namespaces are not looked at, and neither is anything for those who want no waiters', async () => {
  const { clock, open, ask, cycles, looks } = newWorld()
  await open('a', 'b')
  await ask('a', 'x')
  await ask('b', 'y', { namespace: 'other' })
  await ask('a', 'y', { namespace: 'other' })
  await ask('b', 'x')
  await clock.advance(2_000)
  expect(await cycles('x')).toEqual([])
  const before = looks()
  expect(await cycles('x', { waiters: 0 })).toEqual([])
  expect(looks()).toBe(before)
})

test('a client with very many places costs a look no more than it may', async () => {
  const { clock, open, ask, cycles, looks } = newWorld()
  await open('a', 'b')
  await ask('a', 'x')
  await ask('b', 'x')
  for (let index = 0; index < 300; index++) await ask('a', `r${index}`)
  await clock.advance(2_000)
  expect(await cycles('x')).toEqual([])
  expect(looks()).toBeLessThan(40)
})
