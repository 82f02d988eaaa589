import type { ServiceRequest } from '@baton-lock/protocol'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { openMemoryStore } from '@baton-lock/store/memory'
import { type Store, StoreUnavailable } from '@baton-lock/store/store'
import { overlaid } from '@baton-lock/test-support/server-connection'
import { expect, onTestFinished, test } from 'vitest'
import { type Log, logTo, noLog } from './log.ts'
import { Service } from './service.ts'
import { Statistics } from './statistics/statistics.ts'

const lock = { namespace: 'default', resource: 'r', operation: 'lock' }
const ask = (node: string, more: object = {}): ServiceRequest => {
  return { type: 'acquire', ...lock, node, owner: node, hold: '1', ttlMs: 60_000, ...more } as ServiceRequest
}
const release = { type: 'release', ...lock, owner: 'a', hold: '1', outcome: 'success' } as unknown as ServiceRequest
const open = { type: 'open-session', session: 's', node: 'a', ttlMs: 60_000 } as const

function newWorld(change: (store: Store) => Partial<Store> = () => ({}), log: Log = noLog) {
  const clock = new SimulatedClock()
  const memory = openMemoryStore({ clock })
  const statistics = new Statistics({ sinceMs: clock.nowMs() })
  const service = new Service({ store: overlaid(memory, change(memory)), timers: clock, statistics, log })
  onTestFinished(() => service.close())
  const told: [index: number, status: string][] = []
  const call = (requests: readonly ServiceRequest[]) => {
    void service.callAll(
      requests.map((request) => ({ request, facts: {} })),
      (index, reply, error) => told.push([index, reply?.status ?? (error as Error).message]),
    )
  }
  return { service, memory, statistics, told, call }
}

/** A store in another process, which answers after some turns: the first of those that ask at once is the last to be answered. */
const elsewhere = (store: Store): Partial<Store> => {
  let underWay = 0
  return {
    step: async (...asked) => {
      const reply = store.step(...asked)
      for (let turns = 10 - underWay++; turns > 0; turns--) await settled()
      return reply
    },
  }
}

test('steps that a store decides at once, with nothing to wait for, are told before the call returns', () => {
  const { call, told } = newWorld()
  call([ask('a'), ask('b'), release])
  expect(told).toEqual([
    [0, 'granted'],
    [1, 'queued'],
    [2, 'released'],
  ])
})

test.each([
  ['in this process', () => ({})],
  ['in another process', elsewhere],
])('what is no step comes after the steps before it and before those after it, on a store %s', async (_, change) => {
  const { call, told } = newWorld(change)
  call([
    ask('x', { resource: 'y' }),
    open,
    ask('a', { session: 's' }),
    ask('b'),
    { type: 'close-session', session: 's' },
  ])
  await expect.poll(() => told.length).toBe(5)
  expect(told.map(([index]) => index).indexOf(1)).toBe(1)
  expect(told.at(-1)).toEqual([4, 'closed'])
  expect(Object.fromEntries(told)).toEqual({ 0: 'granted', 1: 'alive', 2: 'granted', 3: 'queued', 4: 'closed' })
})

test('steps of a store in another process are asked for together, and each is told when its reply comes', async () => {
  const { call, told } = newWorld(elsewhere)
  call([ask('a', { resource: 'x' }), ask('a', { resource: 'y' }), ask('a', { resource: 'z' })])
  await expect.poll(() => told.length).toBe(3)
  expect(told.map(([index]) => index)).toEqual([2, 1, 0])
})

test('if one step of several throws, those that are lost with it are not told to count', async () => {
  const away = () => {
    throw new StoreUnavailable('away')
  }
  let steps = 0
  const { call, told } = newWorld((store) => ({
    step: (...asked) => (++steps === 2 ? away() : store.step(...asked)),
    durable: away,
  }))
  call([ask('a'), ask('b'), ask('c')])
  expect(told).toEqual([])
  await settled()
  expect(told.sort()).toEqual([
    [0, 'away'],
    [1, 'away'],
    [2, 'away'],
  ])
})

test('a classic command is answered as a request is', async () => {
  const { service } = newWorld()
  const { type, operation, node, owner, hold, ttlMs } = ask('a') as Extract<ServiceRequest, { type: 'acquire' }>
  const command = { type, operation, node, owner, hold, ttlMs, classic: true }
  expect(await service.command(lock, command)).toMatchObject({ status: 'granted', fence: 1 })
  const slow = newWorld(elsewhere)
  expect(await slow.service.command(lock, command)).toMatchObject({ status: 'granted', fence: 1 })
  const full = newWorld(() => ({ durable: () => Promise.reject(new StoreUnavailable('full')) }))
  await expect(full.service.command(lock, command)).rejects.toThrow('full')
})

test('how long the store takes is measured once for steps that it decides together, and otherwise for each', async () => {
  const here = newWorld()
  here.call([ask('a'), ask('b'), ask('c')])
  const count = ({ statistics }: typeof here) => statistics.storeSteps.counts.reduce((sum, each) => sum + each, 0)
  expect(count(here)).toBe(1)
  const there = newWorld(elsewhere)
  there.call([ask('a'), ask('b'), ask('c')])
  await expect.poll(() => there.told.length).toBe(3)
  expect(count(there)).toBe(3)
})

test('steps of the service itself also notice that the store is away, and are not counted as answers', async () => {
  const lines: string[] = []
  const log = logTo((_, message) => lines.push(message))
  let isAway = true
  const { service, statistics } = newWorld(
    (store) => ({
      step: async (...asked) => {
        if (isAway) throw new StoreUnavailable('away')
        return store.step(...asked)
      },
    }),
    log,
  )
  const heard = { ...lock, node: 'a', owner: 'a', hold: '1', fence: 1 }
  await service.heard(heard)
  expect(lines).toEqual(['the store does not answer'])
  isAway = false
  await service.heard(heard)
  expect(lines).toEqual(['the store does not answer', 'the store answers again'])
  expect(statistics.answers.requests).toEqual({})
})
