import { openMemoryStore } from '@baton-lock/store/memory'
import { StoreUnavailable } from '@baton-lock/store/store'
import { expect, test } from 'vitest'
import { recordSessions } from './record-sessions.ts'
import { watchDeadlocks } from './watch-deadlocks.ts'

test('a deadlock that a store lets out is told, whatever it is wrapped in', async () => {
  const deadlock = Object.assign(new Error('Deadlock found when trying to get lock'), { errno: 1213 })
  const away = Object.assign(new Error('connect ECONNREFUSED'), { errno: -111 })
  let error: Error = deadlock
  const plain = recordSessions(openMemoryStore({ clock: { nowMs: () => 0 } }), () => {})
  const told: number[] = []
  const store = watchDeadlocks(
    { ...plain, renewSession: () => Promise.reject(new StoreUnavailable('no', { cause: error })) },
    (errno) => told.push(errno),
  )
  await expect(store.renewSession('s')).rejects.toThrow(StoreUnavailable)
  expect(told).toEqual([1213])
  error = away
  await expect(store.renewSession('s')).rejects.toThrow(StoreUnavailable)
  expect(told).toEqual([1213])
  expect(await store.places('s')).toBeUndefined()
  expect(store.nowMs()).toBe(0)
})
