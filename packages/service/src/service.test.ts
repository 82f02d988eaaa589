import type { RequestOf } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { expect, onTestFinished, test } from 'vitest'
import { Service } from './service.ts'

function newWorld(waiterLimit: number) {
  const clock = new SimulatedClock()
  const service = new Service({ store: openMemoryStore({ clock }), timers: clock, waiterLimit })
  onTestFinished(() => service.close())
  const ask = (node: string, more: Partial<RequestOf<'acquire'>> = {}) =>
    service.call({
      type: 'acquire',
      namespace: 'default',
      operation: 'lock',
      resource: 'r',
      node,
      owner: node,
      hold: '-',
      ttlMs: 600_000,
      ...more,
    })
  return { clock, service, ask }
}

test('at the limit of all waiters one that does not wait is told that it is busy, and one that would that there is no room', async () => {
  const { ask } = newWorld(1)
  await ask('a')
  expect(await ask('b')).toMatchObject({ status: 'queued', position: 1 })
  expect(await ask('c', { queueing: false })).toMatchObject({ code: 'busy' })
  expect(await ask('c', { waitMs: 0 })).toMatchObject({ code: 'busy' })
  expect(await ask('c')).toMatchObject({ code: 'queue-full' })
  expect(await ask('b')).toMatchObject({ status: 'queued', position: 1 })
  expect(await ask('c', { resource: 'free' })).toMatchObject({ status: 'granted' })
})

test('a place has its own ttl also at the limit of all waiters', async () => {
  const { ask, clock, service } = newWorld(1)
  await ask('a')
  await ask('b', { ttlMs: 1_000 })
  await clock.advance(40_000)
  // Asking again at the limit: the place lives for a minute from now, not for the ttl of a grant.
  expect(await ask('b', { ttlMs: 1_000 })).toMatchObject({ status: 'queued' })
  await clock.advance(50_000)
  expect(await service.counts()).toMatchObject({ waiters: 1 })
})
