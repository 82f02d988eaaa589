import type { Acquire } from '@baton-lock/core'
import { recordSessions } from '@baton-lock/faults/history/record-sessions'
import type { WireEvent } from '@baton-lock/protocol'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { type Store, StoreUnavailable } from '@baton-lock/store/store'
import { expect, onTestFinished, test } from 'vitest'
import { Service } from '../service.ts'

const r = { namespace: 'default', resource: 'r' }
const acquire: Acquire = { type: 'acquire', operation: 'lock', node: 'a', owner: 'a', hold: 'h', ttlMs: 60_000 }

/** A service on a store that misses events when it is told to, and whose reads can be held up, or fail. */
function newWorld() {
  const clock = new SimulatedClock()
  const memory = openMemoryStore({ clock })
  const reads = { isAway: false, until: Promise.resolve() }
  let miss = () => {}
  const read = async <Result>(answer: () => Promise<Result>) => {
    await reads.until
    if (reads.isAway) throw new StoreUnavailable('away')
    return answer()
  }
  const store: Store = {
    ...recordSessions(memory, () => {}),
    places: (session) => read(() => memory.places(session)),
    read: (address) => read(() => memory.read(address)),
    subscribe(listener, onGap) {
      miss = onGap!
      return memory.subscribe(listener)
    },
  }
  const service = new Service({ store, timers: clock })
  onTestFinished(() => service.close())
  const listen = async (
    scope: Parameters<Service['listen']>[0],
    lastId?: string,
    onWaiting?: (change: number) => void,
  ) => {
    const heard: [WireEvent, string][] = []
    const stop = await service.listen(scope, (event, id) => heard.push([event, id]), { lastId, onWaiting })
    const types = () => heard.map(([{ type }]) => type)
    return { heard, types, stop }
  }
  return { clock, store, reads, listen, miss: () => miss() }
}

test('nobody hears what came after a gap before it hears of the gap, however long others take to be told', async () => {
  const { store, reads, listen, miss } = newWorld()
  await store.openSession({ session: 's', node: 'a', ttlMs: 60_000 })
  const session = await listen({ of: 'session', session: 's' })
  const all = await listen({ of: 'all' })
  let goOn = () => {}
  reads.until = new Promise((resolve) => {
    goOn = resolve
  })
  miss()
  await store.step(r, { ...acquire, session: 's' })
  await settled()
  // Whoever is cut just now comes back with the last id that it has heard: it is told of the gap then.
  all.stop()
  const back = await listen({ of: 'all' }, all.heard.at(-1)![1])
  const told = [...all.types(), ...back.types()]
  expect(told.filter((type) => type === 'granted').length).toBeLessThanOrEqual(1)
  expect(told.slice(0, 3)).toEqual(['state', 'reset', 'state'])
  goOn()
  await settled()
  expect(session.types()).toEqual(['state', 'reset', 'state', 'granted'])
})

test('who cannot be told where things stand after a gap, as the store is away, is told when it is back', async () => {
  const { clock, store, reads, listen, miss } = newWorld()
  const { types } = await listen({ of: 'resource', ...r })
  reads.isAway = true
  miss()
  await clock.advance(10_000)
  expect(types()).toEqual(['state'])
  reads.isAway = false
  await clock.advance(10_000)
  expect(types()).toEqual(['state', 'reset', 'state'])
  await store.step(r, acquire)
  await settled()
  expect(types()).toEqual(['state', 'reset', 'state', 'granted'])
})

test('a gap while somebody begins to listen leaves nothing out', async () => {
  const { store, reads, listen, miss } = newWorld()
  let goOn = () => {}
  reads.until = new Promise((resolve) => {
    goOn = resolve
  })
  const listening = listen({ of: 'resource', ...r })
  await settled()
  miss()
  await store.step(r, acquire)
  goOn()
  const { types } = await listening
  await settled()
  expect(types()[0]).toBe('state')
  expect(types().slice(-2)).toEqual(['state', 'granted'])
})

test('what comes while the state is read waits within a limit; beyond it the state is told, and once more', async () => {
  const { clock, store, reads, listen } = newWorld()
  await store.step(r, acquire)
  let goOn = () => {}
  reads.until = new Promise((resolve) => {
    goOn = resolve
  })
  const waiting = { bytes: 0, most: 0 }
  const listening = listen({ of: 'resource', ...r }, undefined, (change) => {
    waiting.bytes += change
    waiting.most = Math.max(waiting.most, waiting.bytes)
  })
  await settled()
  const progress = { type: 'progress', operation: 'lock', node: 'a', owner: 'a', fence: 1 } as const
  const report = (text: string) => store.step(r, { ...progress, progress: text })
  for (let count = 0; count < 10; count++) await report('x'.repeat(4_000))
  expect(waiting.bytes).toBeGreaterThan(40_000)
  for (let count = 0; count < 30; count++) await report('x'.repeat(4_000))
  expect(waiting).toEqual({ bytes: 0, most: expect.closeTo(64 * 1024, -4) })
  expect(waiting.most).toBeLessThanOrEqual(64 * 1024)
  goOn()
  const { heard, types } = await listening
  expect(types()).toEqual(['state'])
  await report('not yet')
  await clock.advance(1_000)
  expect(types()).toEqual(['state', 'reset', 'state'])
  await report('y')
  await settled()
  expect(types()).toEqual(['state', 'reset', 'state', 'progress'])
  expect(heard.at(-1)![0]).toMatchObject({ progress: 'y' })
})
