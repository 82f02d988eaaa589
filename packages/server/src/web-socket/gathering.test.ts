import type { GatheredEvent } from '@baton-lock/protocol'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { ask, release, world } from '@baton-lock/test-support/server-connection'
import { expect, test } from 'vitest'

async function watched(scope: object = { of: 'all' }) {
  const { open, clock } = world()
  const watcher = open()
  const worker = open()
  await watcher.send({ listen: [{ id: 1, scope, gatherMs: 500 }] })
  let number = 0
  const cycle = async (resource: string, more = {}) => {
    const hold = `h${++number}`
    await worker.send({ from: 2 * number - 1, requests: [ask(hold, { resource, ...more })] })
    const reply = worker.replies().at(-1)?.[1] as { fence: number }
    await worker.send({ from: 2 * number, requests: [release(hold, reply.fence, { resource, ...more })] })
  }
  const pass = async (ms: number) => {
    await clock.advance(ms)
    await settled()
  }
  const gathered = () =>
    watcher
      .events()
      .map(([, , event]) => event)
      .filter((event): event is GatheredEvent => event.type === 'gathered')
  return { watcher, cycle, pass, gathered }
}

test('the first event after a quiet time is told at once, what follows together after the interval', async () => {
  const { cycle, pass, gathered } = await watched()
  await cycle('a')
  await pass(1)
  expect(gathered()).toMatchObject([{ events: [{ type: 'granted' }, { type: 'ended' }], omitted: 0 }])
  await cycle('b')
  await cycle('c')
  await pass(498)
  expect(gathered()).toHaveLength(1)
  await pass(2)
  expect(gathered()[1]).toMatchObject({
    events: [{ resource: 'b' }, { resource: 'b' }, { resource: 'c' }, { resource: 'c' }],
    changed: [
      ['default', 'b'],
      ['default', 'c'],
    ],
    more: false,
  })
})

test('where nothing happens nothing is told, and the next one is told at once again', async () => {
  const { cycle, pass, gathered } = await watched()
  await cycle('a')
  await pass(5_000)
  expect(gathered()).toHaveLength(1)
  await cycle('b')
  await pass(1)
  expect(gathered()).toHaveLength(2)
})

test('of very much, the last events come in order, and how many were omitted is said', async () => {
  const { cycle, pass, gathered } = await watched()
  await cycle('first')
  await pass(1)
  for (let count = 0; count < 40; count++) await cycle(`r${count}`)
  await pass(500)
  const { events, omitted, changed } = gathered()[1]!
  expect(omitted).toBe(30)
  expect(events).toHaveLength(50)
  expect(events[0]).toMatchObject({ type: 'granted', resource: 'r15' })
  expect(events.at(-1)).toMatchObject({ type: 'ended', resource: 'r39' })
  expect(changed).toHaveLength(40)
})

test('beyond so many names it is said that there are more', async () => {
  const { cycle, pass, gathered } = await watched()
  await cycle('first')
  await pass(1)
  for (let count = 0; count < 501; count++) await cycle(`r${count}`)
  await pass(500)
  expect(gathered()[1]!.changed).toHaveLength(500)
  expect(gathered()[1]!.more).toBe(true)
})

test('only of its namespace, and nothing after it has ended', async () => {
  const { watcher, cycle, pass, gathered } = await watched({ of: 'all', namespace: 'default' })
  await cycle('a', { namespace: 'other' })
  await pass(1_000)
  expect(gathered()).toEqual([])
  await cycle('a')
  await watcher.send({ unlisten: [1] })
  await pass(1_000)
  expect(gathered()).toEqual([])
})
