import { expect, test } from 'vitest'
import { checkFileStore, DamagedStore, NewerFormat, repairFileStore } from '../../src/stores/file/index.ts'
import { settled } from '../../src/testing/index.ts'
import { DiskError, SimulatedDisk } from '../../src/testing/simulated-disk.ts'
import { ask, at, DIRECTORY, openOn } from './file-world.ts'

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
  expect((await repairFileStore(DIRECTORY, disk)).findings).toEqual(['/store is in order: nothing was changed'])
  expect(disk.contentOf(path('log-0')).equals(before)).toBe(true)
})

test('damage in the middle of a log is refused with its place, and repaired with what is before it', async () => {
  const disk = await storeWith(10)
  flip(disk, 'log-0', disk.contentOf(path('log-0')).indexOf('"r5"'))
  await expect(openOn(disk)).rejects.toThrow(DamagedStore)
  await expect(openOn(disk)).rejects.toThrow(
    /log-0 in \/store is damaged at byte \d+, record \d+: .*baton store repair/,
  )
  const check = await checkFileStore(DIRECTORY, disk)
  expect(check.isSound).toBe(false)
  expect(check.findings[0]).toMatch(/log-0 is damaged at byte \d+, record \d+: .* 5 records \(\d+ bytes\) .* lost/)

  const repaired = await repairFileStore(DIRECTORY, disk)
  expect(repaired.isSound).toBe(true)
  expect(repaired.findings).toContain('log-0 was put aside as log-0.damaged')
  expect((await checkFileStore(DIRECTORY, disk)).isSound).toBe(true)
  const store = await openOn(disk)
  expect((await store.counts()).grants).toBe(5)
  // A fence of a grant that is lost is never given again, though nobody knows it any more.
  const reply = await ask(store, 'a', 'r9')
  expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(100)
  await store.close()
  expect(await disk.list(DIRECTORY)).toContain('log-0.damaged')
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
  expect(check.findings[0]).toMatch(
    /log-0 is damaged at byte \d+, record 5: .* at least 2 records \(\d+ bytes\) .* lost/,
  )
})

test('what is lost with a log are the logs behind it too, and fences go on above those', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  disk.fault = (what, at) => (what === 'create' && at.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  let fence = 0
  for (let count = 0; count < 500; count++) {
    const asker = { operation: 'lock', owner: 'a', hold: `${count}` }
    const reply = await store.step(at('r'), { type: 'acquire', ...asker, node: 'a', ttlMs: 30_000 })
    if (reply.status !== 'granted') throw new Error(JSON.stringify(reply))
    fence = reply.fence
    await store.step(at('r'), { type: 'release', ...asker, fence, outcome: 'success' })
  }
  await store.close()
  disk.fault = () => undefined
  const log = disk.contentOf(path('log-0'))
  flip(disk, 'log-0', log.lastIndexOf('BATN', log.lastIndexOf('BATN') - 1) + 20)

  const { findings } = await checkFileStore(DIRECTORY, disk)
  const [, lost, records] = /at least (\d+) records .* has .* (\d+) records are in its log/.exec(findings.join())!
  // Two for each round, and the policy and the restart that a store begins with.
  expect(Number(lost) + Number(records)).toBe(1_002)
  await repairFileStore(DIRECTORY, disk)
  const again = await openOn(disk)
  const reply = await ask(again, 'b', 'r', { operation: 'update' })
  expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(fence)
  await again.close()
})

test('damage in a snapshot costs what is in the damaged part, and fences go on far above', async () => {
  const disk = await storeWith(60, 2_000)
  const snapshot = (await disk.list(DIRECTORY)).find((name) => name.startsWith('snapshot-'))!
  const { length } = disk.contentOf(path(snapshot))
  flip(disk, snapshot, Math.floor(length / 2))
  await expect(openOn(disk)).rejects.toThrow(/snapshot-\d+ in \/store is damaged at byte/)
  const repaired = await repairFileStore(DIRECTORY, disk)
  expect(repaired.findings).toContain(`${snapshot} was put aside as ${snapshot}.damaged`)
  const store = await openOn(disk)
  expect(await ask(store, 'a', 'again')).toMatchObject({ status: 'granted', fence: expect.any(Number) })
  const reply = await ask(store, 'a', 'once-more')
  expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(2 ** 32)
  await store.close()
})

test('a log that is missing is damage', async () => {
  const disk = await storeWith(60, 2_000)
  const log = (await disk.list(DIRECTORY)).find((name) => name.startsWith('log-'))!
  await disk.remove(path(log))
  await expect(openOn(disk)).rejects.toThrow(`${log} in /store is damaged: it is missing`)
})

test('a directory of a newer version is refused, by check and repair too', async () => {
  const disk = await storeWith(1)
  disk.replace(path('format'), Buffer.from('baton file store, format 6\n'))
  for (const attempt of [openOn, () => checkFileStore(DIRECTORY, disk), () => repairFileStore(DIRECTORY, disk)]) {
    const error = await attempt(disk).catch((each) => each)
    expect(error).toBeInstanceOf(NewerFormat)
    expect(error.message).toBe('/store was written by a newer Baton (format 6, this one knows 5): use that one')
  }
})

test('where there is no store, there is nothing to check or to repair', async () => {
  const disk = new SimulatedDisk()
  await expect(checkFileStore(DIRECTORY, disk)).rejects.toThrow('/store has no store in it')
  disk.replace(path('letters'), Buffer.from('somebody else'))
  await expect(repairFileStore(DIRECTORY, disk)).rejects.toThrow('/store has no store in it')
  expect(await disk.list(DIRECTORY)).toEqual(['letters'])
})
