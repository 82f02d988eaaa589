import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { completePolicy } from '../../src/core/index.ts'
import { backupFileStore, openFileStore, restoreFileStore } from '../../src/stores/file/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { SimulatedClock } from '../../src/testing/index.ts'
import { ask, at } from './file-world.ts'
import { check, fixtures, written } from './version-1-world.ts'

/* On a real disk: files that are removed while they are read, and directories that are moved. */

const folders: string[] = []
const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'baton-backup-'))
  folders.push(folder)
  return folder
}

async function open(directory: string, more: object = {}): Promise<Store> {
  const store = await openFileStore({ directory, clock: new SimulatedClock(), ...more })
  stores.push(store)
  return store
}

test('backups while one log after another is begun, and what they make unnecessary removed, lack nothing', async () => {
  const folder = newFolder()
  const directory = join(folder, 'store')
  const store = await open(directory, { logLimit: 8_000 })
  let acknowledged = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      const from = acknowledged
      await Promise.all(Array.from({ length: 20 }, (_, index) => ask(store, 'a', `r${from + index}`)))
      acknowledged += 20
    }
  })()
  const copies: { readonly place: string; readonly atLeast: number }[] = []
  for (let count = 0; count < 5; count++) {
    const copy = { place: join(folder, `backup-${count}`), atLeast: acknowledged }
    await backupFileStore(directory, { to: copy.place, nowMs: 0 })
    copies.push(copy)
  }
  isOver = true
  await writing
  const bases = copies.map(({ place }) => readdirSync(place).find((name) => name.startsWith('snapshot-')))
  // Each has met another turnover than the one before.
  expect(new Set(bases).size).toBeGreaterThan(2)
  for (const { place, atLeast } of copies) {
    const copy = await open(place)
    expect(atLeast === 0 || (await copy.read(at(`r${atLeast - 1}`)))?.grants.length).toBeTruthy()
    expect((await copy.counts()).grants).toBeGreaterThanOrEqual(atLeast)
  }
}, 30_000)

test.each(['file', 'file-snapshot'])(
  'a directory of version 1 is backed up as it is, and restored as one of this version: %s',
  async (name) => {
    const expected = written('file.json')
    const folder = newFolder()
    const [old, backup, restored] = ['old', 'backup', 'restored'].map((each) => join(folder, each)) as [
      string,
      string,
      string,
    ]
    cpSync(join(fixtures, name), old, { recursive: true })
    await backupFileStore(old, { to: backup, nowMs: expected.nowMs })
    expect(readdirSync(backup).sort()).toEqual(readdirSync(old).sort())
    expect(readFileSync(join(backup, 'format'), 'utf8')).toBe('baton file store, format 1\n')
    await restoreFileStore(restored, { from: backup, nowMs: expected.nowMs })
    expect(readFileSync(join(restored, 'format'), 'utf8')).toBe('baton file store, format 5\n')
    const store = await open(restored, {
      clock: { nowMs: () => expected.nowMs },
      policy: completePolicy(expected.configured),
    })
    await check(store, expected)
    const reply = await ask(store, 'e', 'r-new')
    expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(2 ** 32)
  },
)
