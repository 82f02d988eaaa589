import { completePolicy } from '@baton-lock/core'
import { SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { SimulatedClock } from '../src/conformance/index.ts'
import { checkFileStore } from '../src/file/index.ts'
import { ask, at, DIRECTORY, openOn } from './file-world.ts'

test('leases do not run out while the store is down', async () => {
  const clock = new SimulatedClock()
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { clock })
  await store.openSession({ session: 's', node: 'b', ttlMs: 10_000 })
  await ask(store, 'a')
  await ask(store, 'b', 'r', { session: 's' })
  await ask(store, 'b', 'other', { session: 's' })
  const endMs = clock.nowMs()
  const late = new SimulatedClock(endMs + 3_000_000)
  const again = await openOn(disk.afterCrash(), { clock: late })
  expect(await again.read(at('r'))).toMatchObject({ grants: [{ node: 'a', fence: 1 }], waiting: 1 })
  expect(await again.places('s')).toHaveLength(2)
  late.jump(9_999)
  expect(await again.renewSession('s')).toEqual({ status: 'alive', ttlMs: 10_000, places: 2 })
  late.jump(10_000)
  await again.sweep(100)
  expect(await again.places('s')).toBeUndefined()
  expect(await again.read(at('other'))).toMatchObject({ grants: [] })
  await again.close()
})

test('a session whose end a crash has cut short has ended, and what is left of its places goes', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
  for (let index = 0; index < 500; index++) await ask(store, 'a', `r${index}`, { session: 's' })
  await ask(store, 'b', 'r499')
  await store.closeSession('s')
  expect((await store.counts()).grants).toBeGreaterThan(100)

  const again = await openOn(disk.afterCrash())
  expect(await again.places('s')).toBeUndefined()
  const view = await again.read(at('r499'))
  expect(view).toMatchObject({ grants: [{ node: 'b', attempt: 1 }], recent: [{ outcome: { outcome: 'cancelled' } }] })
  for (let sweeps = 0; sweeps < 5; sweeps++) await again.sweep(1_000)
  expect((await again.counts()).grants).toBe(1)
  await again.close()
})

test('a clock that was set back does not take time back', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { clock: new SimulatedClock(5_000_000) })
  await ask(store, 'a')
  const clock = new SimulatedClock(1_000_000)
  const again = await openOn(disk.afterCrash(), { clock })
  expect(again.nowMs()).toBe(5_000_000)
  clock.jump(30_000)
  await again.sweep(10)
  expect((await again.read(at('r')))?.grants).toEqual([])
  await again.close()
})

test('a policy that was applied outlives a restart, and gives way to another configuration', async () => {
  const disk = new SimulatedDisk()
  const policies = [5_000, 6_000, 7_000].map((claimMs) =>
    completePolicy({ namespaces: { default: { claimMs, queueLimit: 10 } } }),
  )
  let store = await openOn(disk, { policy: policies[0] })
  expect(await store.policy()).toEqual({ version: 1, policy: policies[0] })
  await store.applyPolicy(policies[1]!, 1)
  await store.close()
  store = await openOn(disk, { policy: policies[0] })
  expect(await store.policy()).toEqual({ version: 2, policy: policies[1] })
  await store.close()
  store = await openOn(disk, { policy: policies[2] })
  expect(await store.policy()).toEqual({ version: 3, policy: policies[2] })
  await store.close()
  store = await openOn(disk)
  expect((await store.policy()).version).toBe(3)
  await store.close()
})

test('a store that has no id yet, or one that is not readable, gets a new one and keeps it', async () => {
  const disk = new SimulatedDisk()
  const path = `${DIRECTORY}/id`
  const idOf = async () => {
    const store = await openOn(disk)
    await ask(store, 'a')
    await store.close()
    return store.id
  }
  const first = await idOf()
  expect(await idOf()).toBe(first)
  await disk.remove(path)
  expect((await checkFileStore(DIRECTORY, disk)).isSound).toBe(true)
  const second = await idOf()
  expect(second).not.toBe(first)
  disk.replace(path, Buffer.from([0xff, 0, 1]))
  expect((await checkFileStore(DIRECTORY, disk)).isSound).toBe(true)
  expect(await idOf()).toMatch(/^[0-9a-f]{18}$/)
})
