import { DiskError, SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { settled } from '../src/conformance/index.ts'
import { checkFileStore, DamagedStore, raiseFences } from '../src/file/index.ts'
import { durableStep, type Store, StoreUnavailable } from '../src/store.ts'
import { ask, at, DIRECTORY, openOn } from './file-world.ts'

const path = (name: string) => `${DIRECTORY}/${name}`
const LOG = path('log-0')
/** One log, which is not followed by a snapshot. */
const roomy = { logLimit: 100_000, fenceBlock: 64 }

let holds = 0

/** A grant that comes to its end; the fence that it had. */
async function turn(store: Store, operation = 'lock'): Promise<number> {
  const hold = `${++holds}`
  const reply = await ask(store, 'a', 'r', { operation, hold })
  if (reply.status !== 'granted') throw new Error(JSON.stringify(reply))
  const { fence } = reply
  await durableStep(store, at('r'), { type: 'release', operation, owner: 'a', hold, fence, outcome: 'success' })
  return fence
}

/** What the next process grants, and what it has told its operator. */
async function next(disk: SimulatedDisk): Promise<{ fence: number; said: string[] }> {
  const said: string[] = []
  const store = await openOn(disk, { ...roomy, log: { warn: (_, fields) => said.push(String(fields?.why)) } })
  // A lock may still be held there.
  const fence = await turn(store, 'update')
  await store.close()
  return { fence, said }
}

/** A disk on which so many turns were taken, and the highest fence; then the process was killed, or has closed the store. */
async function worked(end: 'killed' | 'closed', turns = 100): Promise<{ disk: SimulatedDisk; highest: number }> {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  let highest = 0
  for (let count = 0; count < turns; count++) highest = await turn(store)
  if (end === 'closed') await store.close()
  return { disk: end === 'closed' ? disk : disk.afterCrash(), highest }
}

/** The offsets of all frames, and the end of the last. */
function boundaries(log: Buffer): number[] {
  const found: number[] = []
  for (let at = log.indexOf('BATN'); at >= 0; at = log.indexOf('BATN', at + 1)) found.push(at)
  return found
}

test.each(['killed', 'closed'] as const)(
  'a log that has lost its end, at a record or within one, gives no fence again: %s',
  async (end) => {
    const { disk, highest } = await worked(end)
    const log = Buffer.from(disk.contentOf(LOG))
    const cuts = boundaries(log).flatMap((start) => [start, start + 9])
    expect(cuts.length).toBeGreaterThan(200)
    for (const cut of cuts.filter((_, index) => index % 7 === 0)) {
      const cutDisk = disk.afterCrash()
      cutDisk.replace(LOG, log.subarray(0, cut))
      const { fence, said } = await next(cutDisk)
      expect(fence, `cut at byte ${cut} of ${log.length}`).toBeGreaterThan(highest)
      expect(said).toEqual([
        expect.stringMatching(/^the (log of the )?store (is not as it was left|was not closed|ends in a write)/),
      ])
    }
  },
)

test('whole logs that are lost give no fence again', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 2_000 })
  disk.fault = (what, at) => (what === 'create' && at.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  let highest = 0
  for (let count = 0; count < 60; count++) highest = await turn(store)
  await store.close()
  const logs = (await disk.list(DIRECTORY)).filter((name) => name.startsWith('log-'))
  expect(logs.length).toBeGreaterThan(2)
  for (const kept of [0, 1, logs.length - 1]) {
    const after = disk.afterCrash()
    for (const name of logs.slice(kept)) await after.remove(path(name))
    expect((await next(after)).fence, `${kept} of ${logs.length} logs`).toBeGreaterThan(highest)
  }
})

test('a log in the midst of others that has lost its end, too', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 2_000 })
  disk.fault = (what, at) => (what === 'create' && at.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  let highest = 0
  for (let count = 0; count < 60; count++) highest = await turn(store)
  await store.close()
  disk.fault = () => undefined
  const log = Buffer.from(disk.contentOf(path('log-1')))
  disk.replace(path('log-1'), log.subarray(0, log.lastIndexOf('BATN')))
  const { fence, said } = await next(disk)
  expect(fence).toBeGreaterThan(highest)
  expect(said).toEqual([expect.stringMatching(/^the log of the store is not as it was left: .* are lost/)])
})

test('a store that was closed goes on with the next fence, and says nothing', async () => {
  const { disk, highest } = await worked('closed')
  expect(await next(disk)).toEqual({ fence: highest + 1, said: [] })
})

test('after a crash fences are passed over once, and holders keep theirs', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const held = await ask(store, 'a', 'held')
  const highest = await turn(store)
  const said: string[] = []
  const log = { warn: (sentence: string) => said.push(sentence) }
  const second = await openOn(disk.afterCrash(), { ...roomy, log })
  expect(await ask(second, 'a', 'held')).toEqual(held)
  const third = await openOn(disk.afterCrash(), { ...roomy, log })
  expect(said).toHaveLength(2)
  const fence = await turn(third)
  expect(fence).toBeGreaterThan(highest)
  expect(fence).toBeLessThanOrEqual(highest + roomy.fenceBlock + 2)
  for (const each of [second, third]) await each.close()
})

test('a server that is killed again and again without a grant uses up no fences', async () => {
  let { disk } = await worked('killed', 10)
  const said: string[] = []
  for (let life = 0; life < 5; life++) {
    await openOn(disk, { ...roomy, log: { warn: (sentence) => said.push(sentence) } })
    disk = disk.afterCrash()
  }
  expect(said).toHaveLength(1)
})

test('fences are reserved for many grants at a time', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 100_000, fenceBlock: 100 })
  let reserved = 0
  disk.fault = (what, at) => {
    if (what === 'rename' && at === path('fences')) reserved++
    return undefined
  }
  for (let count = 0; count < 250; count++) await turn(store)
  expect(reserved).toBe(3)
  await store.close()
})

test('nobody is told of a fence before it is reserved for good', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  let release: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  disk.beforeSync = (path) => (path.includes('fences') ? gate : Promise.resolve())
  let told = 0
  const turns = ['lock', 'update'].map((operation) => turn(store, operation).then((fence) => (told = fence)))
  for (let waits = 0; waits < 50; waits++) await settled()
  expect(told).toBe(0)
  release()
  await Promise.all(turns)
  expect(told).toBeGreaterThan(0)
  await store.close()
})

test('where no fences can be reserved nothing is granted, and it goes on when they can be', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 100_000, fenceBlock: 10 })
  let highest = 0
  disk.fault = (what, at) =>
    what === 'sync' && at.includes('fences') && highest > 5 ? new DiskError('ENOSPC') : undefined
  const refusal = await (async () => {
    for (;;) highest = await turn(store)
  })().catch((error) => error)
  expect(refusal).toBeInstanceOf(StoreUnavailable)
  disk.fault = () => undefined
  await expect.poll(() => turn(store).catch(() => 0), { interval: 2 }).toBe(highest + 1)
  await store.close()
})

test('reserved fences that are missing or damaged are damage', async () => {
  for (const bytes of [undefined, Buffer.from('BATN and something else')]) {
    const { disk } = await worked('closed', 5)
    if (bytes) disk.replace(path('fences'), bytes)
    else await disk.remove(path('fences'))
    await expect(openOn(disk)).rejects.toThrow(DamagedStore)
    const { isSound, findings } = await checkFileStore(DIRECTORY, disk)
    expect([isSound, findings[0]]).toEqual([false, expect.stringMatching(/^fences in \/store is damaged: /)])
  }
})

test('a check says that a log is shorter than it was', async () => {
  const { disk } = await worked('closed')
  const log = Buffer.from(disk.contentOf(LOG))
  disk.replace(LOG, log.subarray(0, boundaries(log)[50]!))
  const { isSound, findings } = await checkFileStore(DIRECTORY, disk)
  expect(isSound).toBe(false)
  expect(findings[0]).toMatch(/^the log of the store is not as it was left: .* the next start grants no fence up to/)
})

test('a copy that is put back goes on above what was granted since, once its fences are raised', async () => {
  const { disk } = await worked('closed', 10)
  const copy = disk.afterCrash()
  const store = await openOn(disk, roomy)
  let highest = 0
  for (let count = 0; count < 200; count++) highest = await turn(store)
  await store.close()

  expect((await next(copy.afterCrash())).fence).toBeLessThan(highest)
  const said = await raiseFences(DIRECTORY, { disk: copy, by: 5_000 })
  expect(said).toMatch(/^fences of \/store go on above \d+, from the next start on; none above \d+ was known of$/)
  expect((await checkFileStore(DIRECTORY, copy)).findings[0]).toMatch(/the next start grants no fence up to \d+$/)
  const { fence } = await next(copy)
  expect(fence).toBeGreaterThan(highest)
  expect(fence).toBeLessThan(highest + 10_000)
})

test('fences are not raised while a store is open, nor so far that few are left', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await expect(raiseFences(DIRECTORY, { disk })).rejects.toThrow('locked')
  await store.close()
  await expect(raiseFences(DIRECTORY, { disk, by: Number.MAX_SAFE_INTEGER })).rejects.toThrow('choose less with --by')
  for (let count = 0; count < 100; count++) await raiseFences(DIRECTORY, { disk })
  const { fence } = await next(disk)
  expect(fence).toBeGreaterThan(100 * 2 ** 32)
  expect(fence).toBeLessThan(Number.MAX_SAFE_INTEGER / 10_000)
})
