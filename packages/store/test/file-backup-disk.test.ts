import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { SimulatedClock } from '../src/conformance/index.ts'
import { backupFileStore, openFileStore, restoreFileStore, saveBackup } from '../src/file/index.ts'
import type { Store } from '../src/store.ts'
import { ask, at } from './file-world.ts'
import { configured, golden, Hours, said, sayAll } from './golden-world.ts'

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

test('backups while one log after another is begun, and the snapshots removed that are being read, lack nothing', async () => {
  const folder = newFolder()
  const directory = join(folder, 'store')
  const store = await openFileStore({ directory, clock: new SimulatedClock(), logLimit: 8_000 })
  stores.push(store)
  let acknowledged = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      const from = acknowledged
      await Promise.all(Array.from({ length: 20 }, (_, index) => ask(store, 'a', `r${from + index}`)))
      acknowledged += 20
    }
  })()
  const copies: { readonly from: string; readonly atLeast: number }[] = []
  for (let count = 0; count < 5; count++) {
    const copy = { from: join(folder, `backup-${count}`), atLeast: acknowledged }
    await saveBackup((await store.backup()).chunks, { to: copy.from })
    copies.push(copy)
  }
  isOver = true
  await writing
  for (const { from, atLeast } of copies) {
    await restoreFileStore(`${from}-restored`, { from, nowMs: 0 })
    const copy = await open(`${from}-restored`)
    expect(atLeast === 0 || (await copy.read(at(`r${atLeast - 1}`)))?.grants.length).toBeTruthy()
    expect((await copy.counts()).grants).toBeGreaterThanOrEqual(atLeast)
  }
}, 60_000)

test.each(['file', 'file-snapshot'])(
  'a golden directory says the same after a backup and a restore: %s',
  async (name) => {
    const { nowMs } = said()
    const folder = newFolder()
    const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')]
    const original = join(folder, 'original')
    cpSync(join(golden, name), original, { recursive: true })
    await backupFileStore(original, { to: backup })
    await restoreFileStore(restored, { from: backup, nowMs })
    const hours = new Hours(nowMs)
    const store = await open(restored, { clock: hours, policy: configured })
    expect(await sayAll(store, hours)).toEqual(said())
    const reply = await ask(store, 'e', 'r-new')
    expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(2 ** 32)
  },
)
