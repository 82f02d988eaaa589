import { DiskError, SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { settled } from '../src/conformance/index.ts'
import { checkFileStore, DamagedStore, raiseFences } from '../src/file/index.ts'
import { UnknownFormat } from '../src/store.ts'
import { ask, DIRECTORY, openOn } from './file-world.ts'

const path = (name: string) => `${DIRECTORY}/${name}`

/** A closed store with so many held locks, each in a frame of its own. */
async function storeWith(count: number, logLimit = 1_000_000): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit })
  for (let index = 0; index < count; index++) await ask(store, 'a', `r${index}`)
  for (let turns = 0; turns < 200; turns++) await settled()
  await store.close()
  return disk
}

async function namedContents(disk: SimulatedDisk): Promise<[string, string][]> {
  const names = (await disk.list(DIRECTORY)).sort()
  return names.map((name) => [name, disk.contentOf(path(name)).toString('hex')])
}

function flip(disk: SimulatedDisk, name: string, offset: number): void {
  const bytes = Buffer.from(disk.contentOf(path(name)))
  bytes[offset]! ^= 0x10
  disk.replace(path(name), bytes)
}

test('a store that is in order is said to be so, and left as it is', async () => {
  const disk = await storeWith(3)
  const before = Buffer.from(disk.contentOf(path('log-0')))
  const check = await checkFileStore(DIRECTORY, disk)
  expect(check).toEqual({
    isSound: true,
    findings: ['/store has 3 resources, 3 grants, 0 waiters and 0 sessions; 5 records are in its log'],
  })
  expect(disk.contentOf(path('log-0')).equals(before)).toBe(true)
})

test('damage in the middle of a log is refused with its place, and with what to do', async () => {
  const disk = await storeWith(10)
  flip(disk, 'log-0', disk.contentOf(path('log-0')).indexOf('"r5"'))
  const error = await openOn(disk).catch((each) => each)
  expect(error).toBeInstanceOf(DamagedStore)
  expect(error.message).toMatch(
    /^log-0 in \/store is damaged at byte \d+, record 8: the content .*; restore the last backup with `baton store restore`/,
  )
  expect(await checkFileStore(DIRECTORY, disk)).toEqual({ isSound: false, findings: [error.message] })
})

test('damage anywhere in a log but in its last frame is never taken for a torn write', async () => {
  const disk = await storeWith(4)
  const whole = Buffer.from(disk.contentOf(path('log-0')))
  const lastFrame = whole.lastIndexOf('BATN')
  for (let offset = 0; offset < lastFrame; offset += 7) {
    disk.replace(path('log-0'), whole)
    flip(disk, 'log-0', offset)
    expect((await checkFileStore(DIRECTORY, disk)).isSound, `byte ${offset}`).toBe(false)
  }
})

test('damage to several frames at the end of a log is not taken for one write that was torn', async () => {
  const disk = await storeWith(4)
  for (const resource of ['"r2"', '"r3"']) flip(disk, 'log-0', disk.contentOf(path('log-0')).indexOf(resource))
  await expect(openOn(disk)).rejects.toThrow(DamagedStore)
  const check = await checkFileStore(DIRECTORY, disk)
  expect(check.findings[0]).toMatch(/log-0 in \/store is damaged at byte \d+, record 5: /)
})

test('damage in a log that others follow is refused too', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  disk.fault = (what, at) => (what === 'create' && at.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  for (let count = 0; count < 100; count++) await ask(store, 'a', `r${count}`)
  await store.close()
  disk.fault = () => undefined
  const log = Buffer.from(disk.contentOf(path('log-0')))
  flip(disk, 'log-0', log.lastIndexOf('BATN', log.lastIndexOf('BATN') - 1) + 20)
  await expect(openOn(disk)).rejects.toThrow(
    /^log-0 in \/store is damaged at byte \d+, record \d+: the content does not match/,
  )
  // Cut short, it would be a torn write, if nothing had been written after it.
  disk.replace(path('log-0'), log.subarray(0, log.lastIndexOf('BATN') + 20))
  await expect(openOn(disk)).rejects.toThrow(/^log-0 in \/store is damaged .*: it ends before the next one begins/)
})

test('damage anywhere in a snapshot is refused', async () => {
  const disk = await storeWith(60, 2_000)
  const snapshot = (await disk.list(DIRECTORY)).find((name) => name.startsWith('snapshot-'))!
  const whole = Buffer.from(disk.contentOf(path(snapshot)))
  for (let offset = 0; offset < whole.length; offset += 97) {
    disk.replace(path(snapshot), whole)
    flip(disk, snapshot, offset)
    await expect(openOn(disk), `byte ${offset}`).rejects.toThrow(/^snapshot-\d+ in \/store is damaged at byte \d+: /)
  }
  disk.replace(path(snapshot), whole.subarray(0, whole.lastIndexOf('BATN')))
  await expect(openOn(disk)).rejects.toThrow(`${snapshot} in /store is damaged at byte`)
})

test('a log that is missing is damage', async () => {
  const disk = await storeWith(60, 2_000)
  const log = (await disk.list(DIRECTORY)).find((name) => name.startsWith('log-'))!
  await disk.remove(path(log))
  await expect(openOn(disk)).rejects.toThrow(`${log} in /store is damaged: it is missing`)
})

test.each([
  ['format 0', 'baton file store, format 0\n'],
  ['format 2', 'baton file store, format 2\n'],
  ['an unknown format', 'baton file store, format two\n'],
  ['an unknown format', 'baton store 2.0\n'],
  ['an unknown format', ''],
])('a directory in %s is refused, by check and raise-fences too, and left alone: %j', async (format, text) => {
  const disk = await storeWith(1)
  disk.replace(path('format'), Buffer.from(text))
  const before = await namedContents(disk)
  for (const attempt of [
    () => openOn(disk),
    () => checkFileStore(DIRECTORY, disk),
    () => raiseFences(DIRECTORY, { disk }),
  ]) {
    const error = await attempt().catch((each) => each)
    expect(error).toBeInstanceOf(UnknownFormat)
    expect(error.code).toBe('unknown-format')
    expect(error.message).toBe(
      `/store is in ${format}, but this Baton reads only format 1: use the version of Baton that wrote it, or name another store`,
    )
  }
  expect(await namedContents(disk)).toEqual(before)
})

test('where there is no store, there is nothing to check', async () => {
  const disk = new SimulatedDisk()
  await expect(checkFileStore(DIRECTORY, disk)).rejects.toThrow('/store has no store in it')
  await expect(raiseFences(DIRECTORY, { disk })).rejects.toThrow('/store has no store in it')
})

test('a store that was cleared begins above the fences of before, if they are raised first', async () => {
  const disk = await storeWith(3)
  for (const name of await disk.list(DIRECTORY)) await disk.remove(path(name))
  await disk.makeDirectory(DIRECTORY)
  expect(await raiseFences(DIRECTORY, { disk })).toBe('/store is a new, empty store; its fences begin above 4294967296')
  const store = await openOn(disk)
  const reply = await ask(store, 'a', 'r0')
  expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(2 ** 32)
  await store.close()
  expect((await checkFileStore(DIRECTORY, disk)).isSound).toBe(true)
})
