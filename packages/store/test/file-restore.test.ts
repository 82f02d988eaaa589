import { SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { SimulatedClock, settled } from '../src/conformance/index.ts'
import { backupFileStore, checkFileStore, restoreFileStore } from '../src/file/index.ts'
import { frameAt, frameOf } from '../src/file/log-record.ts'
import { durableStep, type Store, UnknownFormat } from '../src/store.ts'
import { ask, at, DIRECTORY, openOn } from './file-world.ts'

const MADE_MS = Date.UTC(2026, 10, 17, 16, 23, 32)
const DAY_MS = 86_400_000
const FILES = ['fences', 'format', 'id', 'log-1', 'snapshot-1']
const roomy = { logLimit: 100_000, fenceBlock: 64 }

const restore = (disk: SimulatedDisk, more: object = {}) =>
  restoreFileStore(DIRECTORY, { from: '/backup', nowMs: MADE_MS + DAY_MS, disk, ...more })

let holds = 0

/** A grant that comes to its end; the fence that it had. */
async function turn(store: Store): Promise<number> {
  const hold = `${++holds}`
  const reply = await ask(store, 'a', 'r', { hold })
  if (reply.status !== 'granted') throw new Error(JSON.stringify(reply))
  const { fence } = reply
  await durableStep(store, at('r'), { type: 'release', operation: 'lock', owner: 'a', hold, fence, outcome: 'success' })
  return fence
}

async function takeTurns(disk: SimulatedDisk, count: number): Promise<number> {
  const store = await openOn(disk, roomy)
  let highest = 0
  for (let taken = 0; taken < count; taken++) highest = await turn(store)
  await store.close()
  return highest
}

/** A disk with a backup of a store with a lock that is held and another that was not, and what came after the backup. */
async function backedUp(later = 40): Promise<{ disk: SimulatedDisk; id: string; held: unknown; highest: number }> {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  const held = await ask(store, 'a', 'held')
  await turn(store)
  await store.close()
  await backupFileStore(DIRECTORY, { to: '/backup', disk })
  const highest = later === 0 ? 0 : await takeTurns(disk, later)
  return { disk, id: store.id, held, highest }
}

/** The same disk without the store: as on another machine. */
async function elsewhere(disk: SimulatedDisk): Promise<SimulatedDisk> {
  const other = disk.afterCrash()
  for (const name of await other.list(DIRECTORY)) await other.remove(`${DIRECTORY}/${name}`)
  return other
}

test('what is restored is the store of then, the same one by its id, with its holders and leases as after a restart', async () => {
  const { disk, id, held } = await backedUp()
  const other = await elsewhere(disk)
  const said = await restore(other)
  expect(said).toEqual([
    expect.stringMatching(
      /^\/backup was restored to \/store: \d+ resources, 1 grants, 0 waiters and 0 sessions; the last/,
    ),
    expect.stringMatching(/^fences go on above \d+; what was granted, released or kept since then is not known there$/),
  ])
  expect((await checkFileStore(DIRECTORY, other)).isSound).toBe(true)
  expect((await other.list(DIRECTORY)).sort()).toEqual(FILES)
  const clock = new SimulatedClock(MADE_MS + DAY_MS)
  const store = await openOn(other, { ...roomy, clock })
  expect(store.id).toBe(id)
  // It is a day later, and the lease is whole once more.
  expect(await ask(store, 'a', 'held')).toEqual(held)
  clock.jump(29_000)
  expect(await ask(store, 'b', 'held')).toMatchObject({ status: 'queued' })
  clock.jump(2_000)
  await store.sweep(10)
  expect((await store.read(at('held')))?.grants).toMatchObject([{ node: 'b' }])
  await store.close()
})

test('no fence is given again that was given since the backup was made, nor since it was restored before', async () => {
  const { disk, highest } = await backedUp()
  const first = await elsewhere(disk)
  await restore(first, { by: 1 })
  const once = await takeTurns(first, 60)
  expect(once).toBeGreaterThan(highest)
  const second = await elsewhere(disk)
  await restore(second, { by: 1, nowMs: MADE_MS + DAY_MS + 60_000 })
  const [lowest, last] = [await takeTurns(second, 1), await takeTurns(second, 5)]
  expect(lowest).toBeGreaterThan(once)
  expect(last).toBeGreaterThan(lowest)
  // Where the clock is wrong, the raise alone has to do.
  const third = await elsewhere(disk)
  await restore(third, { nowMs: 0 })
  expect(await takeTurns(third, 1)).toBeGreaterThan(2 ** 32)
})

test('a copy to run beside the original has an id of its own', async () => {
  const { disk, id } = await backedUp()
  const said = await restoreFileStore('/beside', { from: '/backup', nowMs: MADE_MS, asCopy: true, disk })
  expect(said.at(-1)).toBe('it is a store of its own: its first start makes its id')
  const store = await openOn(disk, { ...roomy, directory: '/beside' })
  expect(store.id).not.toBe(id)
  expect((await store.counts()).grants).toBe(1)
  await store.close()
})

test('where there is a store it is refused, or put aside as a whole with --force', async () => {
  const { disk, highest } = await backedUp()
  const before = (await disk.list(DIRECTORY)).sort()
  await expect(restore(disk)).rejects.toThrow(/^\/store has a store in it: --force moves it aside, or name another/)
  expect((await disk.list(DIRECTORY)).sort()).toEqual(before)

  disk.replace(`${DIRECTORY}/notes`, Buffer.from('of somebody else'))
  const [put, restored] = await restore(disk, { force: true })
  const aside = `${DIRECTORY}/replaced-20261118T162332Z`
  expect(put).toBe(`the store that was in /store was moved to ${aside}`)
  expect(restored).toContain('was restored to /store')
  expect((await disk.list(aside)).sort()).toEqual(before)
  expect((await disk.list(DIRECTORY)).sort()).toEqual([
    ...FILES.slice(0, 4),
    'notes',
    'replaced-20261118T162332Z',
    'snapshot-1',
  ])
  expect(await takeTurns(disk, 1)).toBeGreaterThan(highest)
  const old = await openOn(disk, { ...roomy, directory: aside })
  expect(await turn(old)).toBe(highest + 1)
  await old.close()
})

test('where there is something else it wants to be told, and leaves that alone', async () => {
  const { disk } = await backedUp()
  disk.replace('/home/letters', Buffer.from('of somebody else'))
  const into = { from: '/backup', nowMs: MADE_MS, disk }
  await expect(restoreFileStore('/home', into)).rejects.toThrow(
    '/home is not empty: name another directory, or say --force',
  )
  expect(await disk.list('/home')).toEqual(['letters'])
  await restoreFileStore('/home', { ...into, force: true })
  expect((await disk.list('/home')).sort()).toEqual(['fences', 'format', 'id', 'letters', 'log-1', 'snapshot-1'])
})

test('while a process has the directory open it is refused, also with --force', async () => {
  const { disk } = await backedUp()
  const store = await openOn(disk, roomy)
  await expect(restore(disk, { force: true })).rejects.toThrow('locked')
  expect(await turn(store)).toBeGreaterThan(0)
  await store.close()
})

test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
  [
    'damaged',
    (bytes) => {
      bytes[bytes.indexOf('"held"')]! ^= 0x10
      return bytes
    },
    /^\/backup cannot be restored: backup in \/ is damaged at byte \d+: .*; use another backup$/,
  ],
  [
    'cut short',
    (bytes) => bytes.subarray(0, bytes.lastIndexOf('BATN')),
    /^\/backup cannot be restored: backup in \/ is damaged at byte \d+: its end is missing; use another backup$/,
  ],
  [
    'of an unknown format',
    (bytes) => {
      const { payload } = frameAt(bytes, 0)!
      const header = frameOf(payload.toString().replace('"format":1', '"format":99'))
      return Buffer.concat([header, bytes.subarray(frameAt(bytes, 0)!.end)])
    },
    /^\/backup cannot be restored: backup is in format 99, but this Baton reads only format 1: use the version/,
  ],
  ['something else', () => Buffer.from('letters'), /^\/backup cannot be restored: backup in \/ is damaged at byte 0/],
])('a backup that is %s is refused with a sentence, and the store stays as it was', async (_, damage, sentence) => {
  const { disk, highest } = await backedUp()
  disk.replace('/backup', damage(Buffer.from(disk.contentOf('/backup'))))
  const before = (await disk.list(DIRECTORY)).sort()
  await expect(restore(disk, { force: true })).rejects.toThrow(sentence)
  expect((await disk.list(DIRECTORY)).sort()).toEqual(before)
  expect(await takeTurns(disk, 1)).toBe(highest + 1)
  // Nor is anything left where nothing was.
  await expect(restoreFileStore('/new', { from: '/backup', nowMs: MADE_MS, disk })).rejects.toThrow(sentence)
  await expect(disk.list('/new')).rejects.toThrow('ENOENT')
})

test('what is not there is not restored', async () => {
  const { disk } = await backedUp()
  await expect(restore(disk, { from: '/nowhere' })).rejects.toThrow('/nowhere cannot be restored: ENOENT')
})

test('after a crash at any point there is the old store, the restored one, or none that could be taken for one', async () => {
  const { disk, highest } = await backedUp(20)
  const whole = disk.afterCrash()
  const begin = whole.operations
  await restore(whole, { force: true })
  const took = whole.operations - begin
  const seen = { old: 0, none: 0, restored: 0 }
  for (let step = 0; step <= took; step++) {
    const half = disk.afterCrash()
    half.offAfter = step
    void restore(half, { force: true })
    for (let turns = 0; turns < 3 * took && !half.isOff; turns++) await settled()
    const after = half.afterCrash()
    const kind = await openOn(after, roomy).then(
      async (store) => {
        const fence = await turn(store)
        await store.close()
        return fence === highest + 1 ? 'old' : fence > highest + 2 ** 32 ? 'restored' : `fence ${fence}`
      },
      (error) =>
        /^a restore to \/store was not finished: run it again, with --force$/.test(error.message) ? 'none' : `${error}`,
    )
    expect(Object.keys(seen), `the power went at step ${step}`).toContain(kind)
    seen[kind as keyof typeof seen]++
    // And once more is all that it takes.
    const again = half.afterCrash()
    await restore(again, { force: true, nowMs: MADE_MS + DAY_MS + 1_000 })
    expect(await takeTurns(again, 1)).toBeGreaterThan(highest + 2 ** 32)
    expect((await again.list(DIRECTORY)).filter((name) => !name.startsWith('replaced-')).sort()).toEqual(FILES)
  }
  // It is finished with the last step of all.
  expect(seen.old).toBeGreaterThan(2)
  expect(seen.none).toBeGreaterThan(10)
  expect(seen.restored).toBe(1)
})

test('an unknown format of the store that is there does not keep it from being put aside', async () => {
  const { disk } = await backedUp()
  disk.replace(`${DIRECTORY}/format`, Buffer.from('baton file store, format 99\n'))
  await expect(openOn(disk)).rejects.toThrow(UnknownFormat)
  await restore(disk, { force: true })
  expect(await takeTurns(disk, 1)).toBeGreaterThan(0)
})
