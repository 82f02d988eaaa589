import type { AddressedEvent } from '@baton-lock/core'
import { DiskError, SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { SimulatedClock, settled } from '../src/conformance/index.ts'
import { resourceFromText, resourceToText } from '../src/resident/resource-text.ts'
import { durableStep, type Store, StoreUnavailable, UnknownOutcome } from '../src/store.ts'
import { ask, at, DIRECTORY, openOn, printOfDisk } from './file-world.ts'

const roomy = { logLimit: 1_000_000 }

async function fenceOf(store: Store, node: string, resource = 'r'): Promise<number> {
  const reply = await ask(store, node, resource)
  if (reply.status !== 'granted') throw new Error(JSON.stringify(reply))
  return reply.fence
}

/** Until the store answers again, however often it has to try. */
async function untilBack(store: Store): Promise<void> {
  for (;;) {
    try {
      await store.policy()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}

test('a write that was torn at any byte is not there at all, and the store goes on', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  await ask(store, 'a')
  const before = await printOfDisk(disk)
  let length = 0
  disk.fault = (what, path) => {
    if (what === 'sync' && path === `${DIRECTORY}/log-0`) disk.turnOff()
    return undefined
  }
  void ask(store, 'b')
  void ask(store, 'ü₂', 'other')
  while (!disk.isOff) await settled()
  disk.afterCrash((write) => {
    length = write.length
    return 0
  })
  expect(length).toBeGreaterThan(100)
  for (let kept = 0; kept <= length; kept++) {
    const after = disk.afterCrash(() => kept)
    const print = await printOfDisk(after)
    expect(print === before, `${kept} of ${length} bytes`).toBe(kept < length)
    if (kept % 16 !== 0) continue
    const again = await openOn(after, roomy)
    expect(await fenceOf(again, 'a')).toBe(1)
    expect(await fenceOf(again, 'c', 'third')).toBeGreaterThan(0)
    await again.close()
  }
})

test('nobody hears of anything before it is on the disk', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const heard: AddressedEvent[] = []
  store.subscribe((event) => heard.push(event))
  let answered = 0
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  disk.beforeSync = () => gate
  for (const node of ['a', 'b', 'c']) void ask(store, node).then(() => answered++)
  void store.read(at('r')).then(() => answered++)
  for (let turns = 0; turns < 50; turns++) await settled()
  expect({ answered, heard: heard.length }).toEqual({ answered: 0, heard: 0 })
  release()
  for (let turns = 0; turns < 50; turns++) await settled()
  expect({ answered, heard: heard.length }).toEqual({ answered: 4, heard: 3 })
  await store.close()
})

test('many who come at once share one sync', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  // The first grant of all reserves fences for many.
  await ask(store, 'a', 'first')
  let syncs = 0
  disk.fault = (what) => {
    if (what === 'sync') syncs++
    return undefined
  }
  await Promise.all(Array.from({ length: 200 }, (_, index) => ask(store, 'a', `r${index}`)))
  expect(syncs).toBeLessThanOrEqual(2)
  await store.close()
})

test('a full disk: nothing is changed, and it goes on by itself when there is space', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const fence = await fenceOf(store, 'a')
  await ask(store, 'b')
  const heard: AddressedEvent[] = []
  store.subscribe((event) => heard.push(event))
  disk.capacity = 0
  disk.fault = (what) => (what === 'write' ? new DiskError('ENOSPC') : undefined)
  const release = { type: 'release', operation: 'lock', owner: 'a', hold: '1', fence, outcome: 'success' } as const
  const failed = await Promise.allSettled([durableStep(store, at('r'), release), ask(store, 'c'), store.read(at('r'))])
  expect(failed.map((each) => each.status === 'rejected' && each.reason instanceof StoreUnavailable)).toEqual([
    true,
    true,
    true,
  ])
  await expect(store.read(at('r'))).rejects.toThrow(StoreUnavailable)
  await expect(store.renewSession('s')).rejects.toThrow(StoreUnavailable)
  expect(store.nextDeadlineMs()).toBeLessThanOrEqual(store.nowMs())
  disk.capacity = Infinity
  disk.fault = () => undefined
  await untilBack(store)
  const view = await store.read(at('r'))
  expect(view).toMatchObject({ grants: [{ node: 'a', fence }], waiting: 1 })
  expect(heard).toEqual([])
  expect(await durableStep(store, at('r'), release)).toMatchObject({ status: 'released' })
  expect((await store.read(at('r')))?.grants).toMatchObject([{ node: 'b', fence: fence + 1 }])
  expect(await store.counts()).toMatchObject({ grants: 1, waiters: 0 })
  await store.close()
  expect(JSON.parse(await printOfDisk(disk.afterCrash())).counts).toMatchObject({ grants: 1, waiters: 0 })
})

test('a disk that is full to the last byte cuts the unfinished write', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 4_000 })
  await ask(store, 'a')
  disk.capacity = disk.used + 100
  let refused = 0
  let granted = 0
  for (let index = 0; index < 40; index++) {
    await ask(store, 'a', `r${index}`).then(
      () => granted++,
      () => refused++,
    )
  }
  expect(refused).toBeGreaterThan(0)
  disk.capacity = Infinity
  await untilBack(store)
  expect((await store.counts()).grants).toBe(1 + granted)
  await store.close()
  const again = await openOn(disk.afterCrash())
  expect((await again.counts()).grants).toBe(1 + granted)
  await again.close()
})

test('a failed sync is never repeated: what it was for is not there, now or after a crash', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const fence = await fenceOf(store, 'a')
  let failures = 0
  disk.fault = (what, path) => {
    if (what !== 'sync' || path !== `${DIRECTORY}/log-0` || failures > 0) return undefined
    failures++
    return new DiskError('EIO')
  }
  await expect(ask(store, 'b', 'other')).rejects.toThrow(StoreUnavailable)
  await untilBack(store)
  expect(failures).toBe(1)
  expect(await store.read(at('other'))).toBeUndefined()
  expect(await fenceOf(store, 'a')).toBe(fence)
  expect(await fenceOf(store, 'c', 'third')).toBeGreaterThan(0)
  const again = await openOn(disk.afterCrash(), roomy)
  expect(await again.read(at('other'))).toBeUndefined()
  expect((await again.read(at('third')))?.grants).toMatchObject([{ node: 'c' }])
  await again.close()
})

test('where a failed write cannot be taken back the outcome is unknown, and nothing is served until it can be', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const fence = await fenceOf(store, 'a')
  let isBroken = true
  disk.fault = (what, path) =>
    isBroken && what !== 'write' && path === `${DIRECTORY}/log-0` ? new DiskError('EIO') : undefined
  await expect(ask(store, 'b', 'other')).rejects.toThrow(UnknownOutcome)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await expect(store.read(at('r'))).rejects.toThrow(StoreUnavailable)
  isBroken = false
  await untilBack(store)
  expect(await store.read(at('other'))).toBeUndefined()
  expect(await fenceOf(store, 'a')).toBe(fence)
  await store.close()
})

test('a disk that fails once more while everything is read anew: nobody misses what that start has decided', async () => {
  const clock = new SimulatedClock()
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { ...roomy, clock })
  await ask(store, 'a')
  await ask(store, 'b', 'r', { waitMs: 1_000 })
  const heard: AddressedEvent[] = []
  store.subscribe((event) => heard.push(event))
  clock.jump(2_000)
  let phase: 'writing' | 'reading anew' | 'restarting' | 'well' = 'writing'
  disk.fault = (what, path) => {
    const isLog = path === `${DIRECTORY}/log-0`
    if (phase === 'writing' && isLog && what === 'sync') phase = 'reading anew'
    else if (phase === 'restarting' && isLog && what !== 'write') return new DiskError('EIO')
    else {
      if (phase === 'reading anew' && path === DIRECTORY) phase = 'restarting'
      else if (phase === 'restarting' && what === 'create') phase = 'well'
      return undefined
    }
    return new DiskError('EIO')
  }
  await expect(ask(store, 'c', 'other')).rejects.toThrow(StoreUnavailable)
  await untilBack(store)
  expect(phase).toBe('well')
  expect(heard).toMatchObject([{ event: { type: 'told' }, to: [{ owner: 'b' }] }])
  await store.close()
})

test('after a failure no snapshot is begun of what nobody may see', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await ask(store, 'a', 'first')
  const made: string[] = []
  let hasFailed = false
  disk.beforeSync = async (path) => {
    // The new log is still on its way when the old one fails.
    for (let turns = 0; path === `${DIRECTORY}/log-1` && turns < 20; turns++) await settled()
  }
  disk.fault = (what, path) => {
    if (what === 'create') made.push(path.slice(DIRECTORY.length + 1))
    if (hasFailed || made.length === 0 || what !== 'sync' || path !== `${DIRECTORY}/log-0`) return undefined
    hasFailed = true
    return new DiskError('EIO')
  }
  for (let index = 0; !hasFailed; index++) {
    void ask(store, 'a', `r${index}`).catch(() => {})
    await settled()
  }
  await untilBack(store)
  expect(made.slice(0, 2)).toEqual(['log-1', 'probe.unfinished'])
  await store.close()
})

test('a snapshot that finds no room does no harm', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  disk.fault = (what, path) => (what === 'write' && path.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  for (let index = 0; index < 60; index++) await ask(store, 'a', `r${index}`)
  expect((await disk.list(DIRECTORY)).filter((name) => name.startsWith('snapshot-'))).toEqual([])
  disk.fault = () => undefined
  for (let index = 60; index < 160; index++) await ask(store, 'a', `r${index}`)
  for (let turns = 0; turns < 200; turns++) await settled()
  expect((await disk.list(DIRECTORY)).filter((name) => /^snapshot-\d+$/.test(name))).toHaveLength(1)
  await store.close()
  const again = await openOn(disk.afterCrash())
  expect((await again.counts()).grants).toBe(160)
  await again.close()
})

test('a resource that was written down and read again is the same', () => {
  const changes = { last: 4, lastRelease: 3 }
  const text = JSON.stringify({ fence: 3, references: ['a', '🎽', '\ud800'], numbers: [1, 2, 4], changes })
  const resource = resourceFromText(text, at('r'))
  expect([...resource.references.keys()]).toEqual(['a', '🎽', '\ud800'])
  expect(resourceToText(resource)).toBe(text)
})
