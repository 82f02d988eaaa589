import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { completePolicy } from '../../src/core/index.ts'
import { openFileStore } from '../../src/stores/file/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { check, fixtures, goOn, type Written, written } from './version-1-world.ts'

const folders: string[] = []
const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

async function openFile(directory: string, { nowMs, configured }: Written): Promise<Store> {
  const store = await openFileStore({ directory, clock: { nowMs: () => nowMs }, policy: completePolicy(configured) })
  stores.push(store)
  return store
}

function copyOf(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'baton-version-1-'))
  folders.push(directory)
  cpSync(join(fixtures, name), directory, { recursive: true })
  return directory
}

test.each(['file', 'file-snapshot'])(
  'a directory of version 1 is as that version left it, and goes on: %s',
  async (name) => {
    const expected = written('file.json')
    const directory = copyOf(name)
    let store = await openFile(directory, expected)
    await check(store, expected)
    await store.close()
    store = await openFile(directory, expected)
    await check(store, expected)
    await goOn(store)
    expect(readFileSync(join(directory, 'format'), 'utf8')).toContain('format 5')
  },
)

test('a directory of version 1 whose log ends in a torn write goes on above what may have been granted in it', async () => {
  const expected = written('file.json')
  const directory = copyOf('file')
  const log = join(directory, 'log-0')
  writeFileSync(log, Buffer.concat([readFileSync(log), Buffer.from('BATN')]))
  const said: string[] = []
  const clock = { nowMs: () => expected.nowMs }
  const policy = completePolicy(expected.configured)
  const store = await openFileStore({
    directory,
    clock,
    policy,
    log: { warn: (_, fields) => said.push(String(fields?.why)) },
  })
  stores.push(store)
  await check(store, expected)
  const ask = { type: 'acquire', operation: 'lock', node: 'e', owner: 'e', hold: 'p', ttlMs: 30_000 } as const
  const reply = await store.step({ namespace: 'default', resource: 'r-new' }, ask)
  expect(reply.status === 'granted' && reply.fence).toBeGreaterThan(65_536)
  expect(said).toEqual([expect.stringMatching(/^the log of the store ends in a write that was cut short$/)])
})

test('what was done under the rules of then stays done after what is done under those of now', async () => {
  const expected = written('file.json')
  const directory = copyOf('file')
  let store = await openFile(directory, expected)
  const at = { namespace: 'default', resource: 'r-revision' }
  const pull = { type: 'acquire', operation: 'pull', node: 'e', owner: 'e', hold: 'p', ttlMs: 30_000 } as const
  expect(await store.step(at, { ...pull, revision: 'v2' })).toMatchObject({ status: 'granted', fence: 3 })
  await store.close()
  store = await openFile(directory, expected)
  expect((await store.read(at))?.grants).toMatchObject([
    { operation: 'lock', fence: 2 },
    { node: 'e', fence: 3 },
  ])
})
