import { DiskError, SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { type Random, SimulatedClock, seededRandom, settled } from '../src/conformance/index.ts'
import {
  backupFileStore,
  checkFileStore,
  DamagedStore,
  type openFileStore,
  restoreFileStore,
  saveBackup,
} from '../src/file/index.ts'
import { StoreUnavailable, UnknownFormat } from '../src/store.ts'
import { ask, type Call, Caller, callResident, callStore, DIRECTORY, fold, openOn, prefixOf } from './file-world.ts'

const nowMs = Date.UTC(2026, 10, 17, 16, 23, 32)
const path = (name: string) => `${DIRECTORY}/${name}`
type FileStore = Awaited<ReturnType<typeof openFileStore>>

/** As a server and `baton store backup` do it together. */
async function backup(store: FileStore, disk: SimulatedDisk, to = '/backup'): Promise<string> {
  return saveBackup((await store.backup()).chunks, { to, disk })
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await settled()
}

async function storeWith(count: number, disk = new SimulatedDisk()) {
  const store = await openOn(disk, { logLimit: 100_000 })
  for (let index = 0; index < count; index++) await ask(store, 'a', `r${index}`)
  return { disk, store }
}

/** Calls on an open store, several at a time, and backups while they go on. */
async function backupsUnderLoad(random: Random, disk: SimulatedDisk, count: number) {
  const clock = new SimulatedClock()
  const calls: Call[] = [{ do: 'restart', nowMs: clock.nowMs(), fenceFloor: 0 }]
  let acknowledged = calls.length
  const store = await openOn(disk, { clock })
  disk.beforeSync = (path) => turns(random.integer(path.includes('snapshot-') ? 40 : 3))
  disk.beforeWrite = (path) => (path.includes('snapshot-') ? turns(random.integer(4)) : undefined)
  const present = fold(calls)
  const caller = new Caller(random, present)
  const made: { readonly directory: string; readonly atLeast: number; readonly atMost: number }[] = []
  let underWay: Promise<void> | undefined
  while (made.length < count) {
    for (let together = random.integer(4); together > 0; together--) {
      clock.jump(random.pick([0, 0, 1, 50, 700]))
      const call = caller.next(clock.nowMs())
      const place = calls.push(call)
      callResident(present, call)
      void callStore(store, call).then(() => {
        acknowledged = Math.max(acknowledged, place)
      })
    }
    if (!underWay && random.chance(0.3)) {
      const [directory, atLeast] = [`/restored-${made.length}`, acknowledged]
      const from = `/backup-${made.length}`
      underWay = backup(store, disk, from).then(async () => {
        made.push({ directory, atLeast, atMost: calls.length })
        await restoreFileStore(directory, { from, nowMs, disk })
        underWay = undefined
      })
    }
    await settled()
  }
  await underWay
  await store.close()
  return { calls, made }
}

test('a backup under load is a prefix of what was done, with all that was acknowledged before it was asked for', async () => {
  let later = 0
  for (let seed = 1; seed <= 10; seed++) {
    const disk = new SimulatedDisk()
    const { calls, made } = await backupsUnderLoad(seededRandom(seed), disk, 3)
    for (const { directory, atLeast, atMost } of made) {
      const length = await prefixOf(disk, calls.slice(0, atMost), { atLeast, directory })
      expect(length, `seed ${seed}: ${directory} is no prefix from ${atLeast} on`).toBeGreaterThanOrEqual(0)
      expect((await checkFileStore(directory, disk)).isSound).toBe(true)
      if (length > atLeast) later++
    }
  }
  // It was worth something only if calls came between the request and the snapshot.
  expect(later).toBeGreaterThan(10)
})

test('a backup says what is in it, and a check of it says the same', async () => {
  const { disk, store } = await storeWith(60)
  await store.openSession({ session: 's', node: 'a', ttlMs: 10_000 })
  await ask(store, 'b', 'r1')
  const contents = '60 resources, 60 grants, 1 waiters and 1 sessions; the last change is of 2023-11-14T22:13:20.000Z'
  expect(await backup(store, disk)).toBe(`the store was written to /backup: ${contents}`)
  await store.close()
  expect(await backupFileStore(DIRECTORY, { to: '/closed', disk })).toBe(`/store was written to /closed: ${contents}`)
  for (const each of ['/backup', '/closed'])
    expect(await checkFileStore(each, disk)).toEqual({
      isSound: true,
      findings: [`${each} is a backup with ${contents}`],
    })
})

test('a client that reads slowly gets the state of when it asked, though the store has gone on and begun another log', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  for (let index = 0; index < 60; index++) await ask(store, 'a', `r${index}`)
  const { bytes, chunks } = await store.backup()
  const before = (await disk.list(DIRECTORY)).filter((name) => name.startsWith('snapshot-'))
  for (let index = 60; index < 160; index++) await ask(store, 'a', `r${index}`)
  await turns(200)
  expect(await disk.list(DIRECTORY)).not.toEqual(expect.arrayContaining(before))
  expect(await saveBackup(chunks, { to: '/backup', disk })).toContain('60 resources')
  expect(disk.contentOf('/backup').length).toBe(bytes)
  await store.close()
})

test('several at a time are several snapshots, each of its own moment', async () => {
  const { disk, store } = await storeWith(3)
  let second: Promise<string> | undefined
  disk.beforeSync = async (file) => {
    if (!file.includes('snapshot-1')) return
    disk.beforeSync = async () => {}
    await ask(store, 'a', 'more')
    second = backup(store, disk, '/second')
  }
  const first = backup(store, disk, '/first')
  expect(await first).toContain(': 3 resources')
  expect(await second).toContain(': 4 resources')
  await store.close()
})

test('what the store takes back because its disk fails is not in a backup, and the request is told so', async () => {
  const { disk, store } = await storeWith(1)
  let fail = () => {}
  disk.beforeSync = (file) => {
    if (file !== path('log-0')) return Promise.resolve()
    return new Promise((_, reject) => {
      fail = () => reject(new DiskError('EIO'))
      disk.beforeSync = async () => {}
    })
  }
  const lost = ask(store, 'a', 'lost').catch((error) => error.name)
  await turns(20)
  const asked = backup(store, disk).catch((error) => error)
  await turns(50)
  fail()
  expect(await lost).toBe('StoreUnavailable')
  expect(await asked).toBeInstanceOf(StoreUnavailable)
  await expect(disk.list('/')).resolves.not.toContain('backup')
  await expect.poll(() => backup(store, disk).catch(() => ''), { interval: 2 }).toContain(': 1 resources')
  await store.close()
})

test('a backup of a store that cannot be read or written is refused', async () => {
  const { disk, store } = await storeWith(1)
  disk.fault = (what, file) => (what === 'write' && file.includes('snapshot') ? new DiskError('ENOSPC') : undefined)
  const error = await store.backup().catch((each) => each)
  expect(error).toBeInstanceOf(StoreUnavailable)
  expect(error.message).toMatch(/^the backup could not be written \(ENOSPC/)
  expect(await ask(store, 'a', 'other')).toMatchObject({ status: 'granted' })
  await store.close()
  await expect(store.backup()).rejects.toThrow('the store is closed')
})

test('nothing is overwritten, and nothing is left of one that fails', async () => {
  const { disk, store } = await storeWith(5)
  await disk.makeDirectory('/backups')
  await backup(store, disk, '/backups/today')
  await expect(backup(store, disk, '/backups/today')).rejects.toThrow('/backups/today is there already: name another')
  await expect(backup(store, disk, '/nowhere/today')).rejects.toThrow('/nowhere is no directory that can be used')
  for (const what of ['write', 'sync', 'create', 'rename'] as const) {
    disk.fault = (each, file) => (each === what && file.startsWith('/backups') ? new DiskError('ENOSPC') : undefined)
    await expect(backup(store, disk, '/backups/next')).rejects.toThrow('ENOSPC')
    expect(await disk.list('/backups')).toEqual(['today'])
  }
  disk.fault = () => undefined
  await store.close()
  for (const what of ['write', 'sync', 'create', 'rename'] as const) {
    disk.fault = (each, file) => (each === what && file.startsWith('/backups') ? new DiskError('ENOSPC') : undefined)
    await expect(backupFileStore(DIRECTORY, { to: '/backups/next', disk })).rejects.toThrow('ENOSPC')
    expect(await disk.list('/backups')).toEqual(['today'])
  }
})

test('a stream that was cut short is not kept, wherever it was cut', async () => {
  const { disk, store } = await storeWith(30)
  await backup(store, disk)
  await store.close()
  const whole = Buffer.from(disk.contentOf('/backup'))
  for (let length = 0; length < whole.length; length += 61) {
    const chunks = (async function* () {
      yield whole.subarray(0, length)
    })()
    await expect(saveBackup(chunks, { to: '/cut', disk }), `${length} bytes`).rejects.toThrow(DamagedStore)
  }
  expect(await disk.list('/')).not.toContain('cut')
})

test('damage anywhere in a backup is found', async () => {
  const { disk, store } = await storeWith(10)
  await backup(store, disk)
  await store.close()
  const whole = Buffer.from(disk.contentOf('/backup'))
  for (let offset = 0; offset < whole.length; offset += 7) {
    const bytes = Buffer.from(whole)
    bytes[offset]! ^= 0x10
    disk.replace('/backup', bytes)
    const said = await checkFileStore('/backup', disk).catch((error) => error.message)
    if (offset < whole.indexOf('BATN', 1)) expect(said).toBe('/backup is neither the directory of a store nor a backup')
    else
      expect(said, `byte ${offset}`).toEqual({
        isSound: false,
        findings: [expect.stringMatching(/^backup in \/ is damaged at byte \d+: .*; use another backup$/)],
      })
  }
})

test('a backup is durable when it says so, and half of one has not its name', async () => {
  const { disk, store } = await storeWith(5)
  await store.close()
  const { operations } = disk
  await backupFileStore(DIRECTORY, { to: '/backup', disk })
  const took = disk.operations - operations
  expect((await checkFileStore('/backup', disk.afterCrash())).isSound).toBe(true)
  for (let step = 0; step < took; step++) {
    const half = new SimulatedDisk()
    await (await storeWith(5, half)).store.close()
    half.offAfter = half.operations + step
    void backupFileStore(DIRECTORY, { to: '/backup', disk: half })
    while (!half.isOff) await settled()
    const after = half.afterCrash(({ length }) => length)
    if ((await after.list('/')).includes('backup')) expect((await checkFileStore('/backup', after)).isSound).toBe(true)
  }
})

test.each<[string, (disk: SimulatedDisk) => void | Promise<void>, RegExp]>([
  [
    'a log',
    (disk) => {
      const log = Buffer.from(disk.contentOf(path('log-0')))
      log[log.indexOf('"r5"')]! ^= 0x10
      disk.replace(path('log-0'), log)
    },
    /^log-0 in \/store is damaged at byte \d+, record \d+: .*baton store restore/,
  ],
  ['no fences', (disk) => disk.remove(path('fences')), /^fences in \/store is damaged: it is missing/],
  ['a log that is missing', (disk) => disk.rename(path('log-0'), path('log-1')), /^log-0 in \/store is damaged: it is/],
])('a closed store that is damaged is not backed up but said to be that: %s', async (_, damage, sentence) => {
  const { disk, store } = await storeWith(10)
  await store.close()
  await damage(disk)
  const error = await backupFileStore(DIRECTORY, { to: '/backup', disk }).catch((each) => each)
  expect(error).toBeInstanceOf(DamagedStore)
  expect(error.message).toMatch(sentence)
  expect(await disk.list('/')).not.toContain('backup')
})

test('nor is one of an unknown format, one that is open, or where there is none', async () => {
  const { disk, store } = await storeWith(1)
  await expect(backupFileStore(DIRECTORY, { to: '/backup', disk })).rejects.toThrow('locked')
  await store.close()
  disk.replace(path('format'), Buffer.from('baton file store, format 99\n'))
  await expect(backupFileStore(DIRECTORY, { to: '/backup', disk })).rejects.toThrow(UnknownFormat)
  await expect(backupFileStore('/other', { to: '/backup', disk })).rejects.toThrow('/other has no store in it')
})

test('a closed store is backed up as it is, without a write that a crash has torn, and is not changed', async () => {
  const { disk, store } = await storeWith(10)
  await store.close()
  const log = disk.contentOf(path('log-0'))
  const torn = Buffer.concat([log, log.subarray(log.lastIndexOf('BATN'), log.length - 5)])
  disk.replace(path('log-0'), torn)
  expect(await backupFileStore(DIRECTORY, { to: '/backup', disk })).toContain('10 resources, 10 grants')
  expect(disk.contentOf(path('log-0')).equals(torn)).toBe(true)
})
