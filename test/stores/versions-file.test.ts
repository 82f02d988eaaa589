import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { completePolicy } from '../../src/core/index.ts'
import { backupFileStore, checkFileStore, NewerFormat, openFileStore } from '../../src/stores/file/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { checkSaid, folderOf, goOnWith, Hours, saidOf, versions } from './versions-world.ts'

const folders: string[] = []
const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function copyOf(version: string, name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `baton-${version}-`))
  folders.push(directory)
  cpSync(join(folderOf(version), name), directory, { recursive: true })
  return directory
}

describe.each(versions.flatMap((version) => ['file', 'file-snapshot'].map((name) => ({ version, name }))))(
  'a directory of $version: $name',
  ({ version, name }) => {
    const said = saidOf(version)

    async function open(directory: string, clock = new Hours(said.nowMs)): Promise<Store> {
      const store = await openFileStore({ directory, clock, policy: completePolicy(said.configured) })
      stores.push(store)
      return store
    }

    test('is as that version left it, and goes on', async () => {
      const directory = copyOf(version, name)
      const first = await open(directory)
      expect(first.id).toBe('the-store-of-a-fixture')
      await checkSaid(first, said)
      await first.close()
      const hours = new Hours(said.nowMs)
      const second = await open(directory, hours)
      await checkSaid(second, said)
      await goOnWith(second, hours)
      await second.close()
      expect((await checkFileStore(directory)).isSound).toBe(true)
    })

    test('with the number of a format that is not known yet is refused, and left alone', async () => {
      const directory = copyOf(version, name)
      const present = /format (\d+)/.exec(readFileSync(join(directory, 'format'), 'utf8'))![1]
      // Of what this build has written since: its own number, and one more.
      await (await open(directory)).close()
      const own = Number(/format (\d+)/.exec(readFileSync(join(directory, 'format'), 'utf8'))![1])
      expect(own).toBeGreaterThanOrEqual(Number(present))
      const newer = `baton file store, format ${own + 1}\n`
      writeFileSync(join(directory, 'format'), newer)
      const uses = [open, checkFileStore, (from: string) => backupFileStore(from, { to: `${from}-copy`, nowMs: 0 })]
      for (const use of uses) await expect(use(directory)).rejects.toThrow(NewerFormat)
      expect(readFileSync(join(directory, 'format'), 'utf8')).toBe(newer)
    })
  },
)
