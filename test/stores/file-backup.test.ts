import { expect, test } from 'vitest'
import type { Disk } from '../../src/stores/file/disk.ts'
import { backupFileStore, checkFileStore, DamagedStore, NewerFormat } from '../../src/stores/file/index.ts'
import { type Random, SimulatedClock, seededRandom, settled } from '../../src/testing/index.ts'
import { DiskError, SimulatedDisk } from '../../src/testing/simulated-disk.ts'
import { ask, type Call, Caller, callResident, callStore, DIRECTORY, fold, openOn, prefixOf } from './file-world.ts'

const nowMs = Date.UTC(2026, 10, 17, 16, 23, 32)
const path = (name: string) => `${DIRECTORY}/${name}`
const backup = (disk: Disk, to = '/backup') => backupFileStore(DIRECTORY, { to, nowMs, disk })

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await settled()
}

/** The same disk, on which others do something before it does what it is asked to. */
function slowed(
  disk: SimulatedDisk,
  late: (what: 'list' | 'open' | 'read', path: string) => Promise<void> | undefined,
): Disk {
  return {
    makeDirectory: (path) => disk.makeDirectory(path),
    removeDirectory: (path) => disk.removeDirectory(path),
    async list(directory) {
      await late('list', directory)
      return disk.list(directory)
    },
    async open(path, how) {
      await late('open', path)
      const file = await disk.open(path, how)
      const read = async (buffer: Uint8Array, position: number) => {
        await late('read', path)
        return file.read(buffer, position)
      }
      return { ...file, read }
    },
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    syncDirectory: (path) => disk.syncDirectory(path),
    lock: (directory) => disk.lock(directory),
  }
}

function gate(): readonly [isOpen: Promise<void>, open: () => void] {
  let open = () => {}
  const isOpen = new Promise<void>((resolve) => {
    open = resolve
  })
  return [isOpen, () => open()]
}

/** Calls on an open store, several at a time; and now and then a backup while they go on. */
async function backupsUnderLoad(random: Random, disk: SimulatedDisk, count: number) {
  const clock = new SimulatedClock()
  const calls: Call[] = [{ do: 'restart', nowMs: clock.nowMs(), fenceFloor: 0 }]
  let acknowledged = calls.length
  const store = await openOn(disk, { clock })
  // A turnover takes its time: until its snapshot is there, there are two logs.
  disk.beforeSync = (path) => turns(random.integer(path.includes('snapshot-') ? 40 : 3))
  const present = fold(calls)
  const fenceOf = (resource: string, operation: string) =>
    present.read({ namespace: 'default', resource }, clock.nowMs())?.grants.get(operation)?.fence ?? 1
  const caller = new Caller(random)
  const unhurried = slowed(disk, () => turns(random.pick([0, 0, 0, 1, 3])))
  const made: { readonly directory: string; readonly atLeast: number }[] = []
  let underWay: Promise<void> | undefined
  while (made.length < count) {
    for (let together = random.integer(4); together > 0; together--) {
      clock.jump(random.pick([0, 0, 1, 50, 700]))
      const call = caller.next(clock.nowMs(), fenceOf)
      const place = calls.push(call)
      callResident(present, call)
      void callStore(store, call).then(() => {
        acknowledged = Math.max(acknowledged, place)
      })
    }
    if (!underWay && random.chance(0.3)) {
      const copy = { directory: `/backup-${made.length}`, atLeast: acknowledged }
      underWay = backup(unhurried, copy.directory).then(() => {
        underWay = undefined
        made.push(copy)
      })
    }
    await settled()
  }
  await store.close()
  return { calls, made }
}

test('a backup under load is a prefix of what was done, with all that was acknowledged before it began', async () => {
  let logs = 0
  let later = 0
  for (let seed = 1; seed <= 10; seed++) {
    const disk = new SimulatedDisk()
    const { calls, made } = await backupsUnderLoad(seededRandom(seed), disk, 3)
    for (const { directory, atLeast } of made) {
      const length = await prefixOf(disk, calls, { atLeast, directory })
      expect(length, `seed ${seed}: ${directory} is no prefix from ${atLeast} on`).toBeGreaterThanOrEqual(0)
      expect((await checkFileStore(directory, disk)).isSound).toBe(true)
      const names = await disk.list(directory)
      logs += names.filter((name) => name.startsWith('log-')).length - 1
      if (length > atLeast) later++
    }
  }
  // It was worth something only if turnovers came between: two logs are there only during one.
  expect(logs).toBeGreaterThan(5)
  expect(later).toBeGreaterThan(15)
})

test('what went to the next log is never copied without what went to the one before', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  const [isMade, make] = gate()
  disk.beforeSync = (file) => (file === path('log-1') ? isMade : Promise.resolve())
  let count = 0
  const next = () => ask(store, 'a', `r${count++}`)
  // The next log is there already, and nothing is written to it yet.
  while (!(await disk.list(DIRECTORY)).includes('log-1')) await next()
  const [isRead, read] = gate()
  const copied = backup(slowed(disk, (what, file) => (what === 'read' && file === path('log-1') ? isRead : undefined)))
  await turns(20)
  await next()
  expect(disk.contentOf(path('log-0')).toString()).toContain(`"r${count - 1}"`)
  make()
  await turns(20)
  await next()
  expect(disk.contentOf(path('log-1')).toString()).toContain(`"r${count - 1}"`)
  read()
  expect((await copied)[0]).toContain(`: ${count} resources`)
  await store.close()
})

test('a backup is a directory like the original: its id, its fences, and nothing of what it does not need', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  for (let count = 0; count < 60; count++) await ask(store, 'a', `r${count}`)
  await turns(100)
  disk.replace(path('snapshot-99.unfinished'), Buffer.from('half'))
  disk.replace(path('log-0.damaged'), Buffer.from('from before'))
  const [said] = await backup(disk)
  expect(said).toBe(
    '/store was copied to /backup: 60 resources, 60 grants, 0 waiters and 0 sessions; the last change is of 2023-11-14T22:13:20.000Z',
  )
  const names = (await disk.list('/backup')).sort()
  expect(names).toEqual(['fences', 'format', 'id', expect.stringMatching(/^log-/), expect.stringMatching(/^snapshot-/)])
  expect(disk.contentOf('/backup/id')).toEqual(disk.contentOf(path('id')))
  expect(disk.contentOf('/backup/format')).toEqual(disk.contentOf(path('format')))
  await store.close()
  const copy = await openOn(disk, { directory: '/backup' })
  expect(copy.id).toBe(store.id)
  expect((await copy.counts()).grants).toBe(60)
  await copy.close()
})

test('a backup is durable when it says so, and half of one is never taken for a store', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  for (let count = 0; count < 5; count++) await ask(store, 'a', `r${count}`)
  const { operations } = disk
  await backup(disk, '/whole')
  const took = disk.operations - operations
  const whole = await openOn(disk.afterCrash(), { directory: '/whole' })
  expect((await whole.counts()).grants).toBe(5)
  for (let step = 0; step < took; step++) {
    const half = disk.afterCrash()
    half.offAfter = step
    void backupFileStore(DIRECTORY, { to: '/half', nowMs, disk: half })
    while (!half.isOff) await settled()
    const after = half.afterCrash(({ length }) => length)
    const opened = await openOn(after, { directory: '/half' }).then(
      async (copy) => (await copy.counts()).grants,
      (error) => error,
    )
    const isRefused =
      opened instanceof DamagedStore && /format in \/half is damaged: it is missing/.test(opened.message)
    // Before the first file there is nothing, which begins as a new store; with the last one it is whole.
    expect([isRefused, opened === 0, opened === 5]).toContain(true)
  }
})

test('where it goes: a new directory, or one by the time in a directory that is there; nothing is ever overwritten', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await ask(store, 'a')
  await backup(disk, '/backups/today')
  await disk.makeDirectory('/backups')
  const [said] = await backup(disk, '/backups')
  expect(said).toContain('was copied to /backups/baton-20261117T162332Z: 1 resources')
  const before = [...(await disk.list('/backups/today'))]
  await expect(backup(disk, '/backups')).rejects.toThrow('/backups/baton-20261117T162332Z is there already')
  await expect(backup(disk, '/backups/today')).rejects.toThrow('/backups/today has a store or a backup in it already')
  await expect(backup(disk, DIRECTORY)).rejects.toThrow('/store has a store or a backup in it already')
  expect(await disk.list('/backups/today')).toEqual(before)
  await store.close()
})

/** An open store with some logs, of which the last ends with so many resources. */
async function damaged(damage: (disk: SimulatedDisk) => void | Promise<void>): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 100_000 })
  for (let count = 0; count < 10; count++) await ask(store, 'a', `r${count}`)
  await store.close()
  await damage(disk)
  return disk
}

function flip(disk: SimulatedDisk, name: string, offset: number): void {
  const bytes = Buffer.from(disk.contentOf(path(name)))
  bytes[offset]! ^= 0x10
  disk.replace(path(name), bytes)
}

test.each<[string, (disk: SimulatedDisk) => void | Promise<void>, RegExp]>([
  [
    'a log',
    (disk) => flip(disk, 'log-0', disk.contentOf(path('log-0')).indexOf('"r5"')),
    /^log-0 in \/store is damaged at byte \d+, record \d+: .*baton store repair \/store/,
  ],
  ['fences', (disk) => flip(disk, 'fences', 20), /^fences in \/store is damaged/],
  ['no fences', (disk) => disk.remove(path('fences')), /^fences in \/store is damaged: it is missing/],
  ['a log that is missing', (disk) => disk.rename(path('log-0'), path('log-1')), /^log-0 in \/store is damaged: it is/],
])('a damaged store is not backed up but said to be that, and nothing is left: %s', async (_, damage, sentence) => {
  const disk = await damaged(damage)
  const error = await backup(disk).catch((each) => each)
  expect(error).toBeInstanceOf(DamagedStore)
  expect(error.message).toMatch(sentence)
  await expect(disk.list('/backup')).rejects.toThrow('ENOENT')
})

test('nor is one of a newer version, or where there is none', async () => {
  const disk = await damaged((store) => store.replace(path('format'), Buffer.from('baton file store, format 99\n')))
  await expect(backup(disk)).rejects.toThrow(NewerFormat)
  await expect(backup(new SimulatedDisk())).rejects.toThrow('/store has no store in it')
})

test('a write that is under way is not in the backup, and one that a crash has torn neither', async () => {
  const disk = await damaged((store) => {
    const log = store.contentOf(path('log-0'))
    const torn = log.subarray(log.lastIndexOf('BATN'), log.length - 5)
    store.replace(path('log-0'), Buffer.concat([log, torn, Buffer.alloc(4_096)]))
  })
  expect((await backup(disk))[0]).toContain('10 resources, 10 grants')
  expect(disk.contentOf('/backup/log-0').length).toBeLessThan(disk.contentOf(path('log-0')).length - 4_096)
  expect((await checkFileStore('/backup', disk)).findings.join()).not.toContain('cut short')
})

test('what the store takes back because its disk fails is not in the backup', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, { logLimit: 100_000 })
  await ask(store, 'a', 'kept')
  let sync = () => {}
  disk.beforeSync = (file) =>
    file === path('log-0')
      ? new Promise((_, reject) => {
          sync = () => reject(new DiskError('EIO'))
        })
      : Promise.resolve()
  const lost = ask(store, 'a', 'lost').catch((error) => error.name)
  await turns(20)
  expect(disk.contentOf(path('log-0')).toString()).toContain('"lost"')
  // The log has been read once, and not yet looked at again, when the process takes it back.
  disk.fault = (what, file) => {
    if (what !== 'create' || file !== '/backup/log-0') return undefined
    disk.fault = () => undefined
    disk.beforeSync = async (synced) => {
      if (synced === '/backup/log-0') await taken
    }
    sync()
    return undefined
  }
  const taken = expect.poll(() => disk.contentOf(path('log-0')).toString(), { interval: 1 }).not.toContain('"lost"')
  const copied = backup(disk)
  expect(await lost).toBe('StoreUnavailable')
  await copied
  expect(disk.contentOf('/backup/log-0').toString()).toContain('"kept"')
  expect(disk.contentOf('/backup/log-0').toString()).not.toContain('"lost"')
  await store.close()
})

test('a disk that is full or fails under a backup leaves nothing of it, and the store alone', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await ask(store, 'a')
  for (const what of ['write', 'sync', 'create', 'rename'] as const) {
    disk.fault = (each, file) => (each === what && file.startsWith('/backup') ? new DiskError('ENOSPC') : undefined)
    await expect(backup(disk)).rejects.toThrow('ENOSPC')
    await expect(disk.list('/backup')).rejects.toThrow('ENOENT')
  }
  expect(await ask(store, 'a', 'other')).toMatchObject({ status: 'granted' })
  await store.close()
})
