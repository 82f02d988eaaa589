import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { checkFileStore, openFileStore } from '../src/file/index.ts'
import type { Store } from '../src/store.ts'
import { BEGIN_MS, configured, golden, goOnWith, Hours, isRewritten, said, sayAll, write } from './golden-world.ts'

const folder = mkdtempSync(join(tmpdir(), 'baton-golden-'))
const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

const timing = { uniqueName: () => 'the-store-of-a-fixture', after: () => () => {} }

async function open(directory: string, clock: Hours, logLimit = Infinity): Promise<Store> {
  const store = await openFileStore({ directory, clock, policy: configured, logLimit, timing })
  stores.push(store)
  return store
}

const isNumbered = (name: string) => /^(log|snapshot)-\d+$/.test(name)

/** Writes the histories as this build does it. Where there is a limit, the log turns over between the two. */
async function writeFiles(directory: string, logLimit: number) {
  const hours = new Hours(BEGIN_MS)
  const store = await open(directory, hours, logLimit)
  const all = await write(store, hours, async () => {
    while (logLimit < Infinity && readdirSync(directory).filter(isNumbered).join() !== 'log-1,snapshot-1')
      await new Promise((done) => setTimeout(done, 10))
  })
  await store.close()
  return all
}

const LIMITS = { file: Infinity, 'file-snapshot': 9_000 }

test.each(Object.entries(LIMITS))('a golden directory is as it was left, and goes on: %s', async (name, logLimit) => {
  const directory = join(folder, name)
  if (isRewritten) {
    rmSync(join(golden, name), { recursive: true, force: true })
    mkdirSync(golden, { recursive: true })
    const all = await writeFiles(join(golden, name), logLimit)
    writeFileSync(join(golden, 'said.json'), `${JSON.stringify(all, null, 1)}\n`)
  }
  cpSync(join(golden, name), directory, { recursive: true })
  const first = await open(directory, new Hours(said().nowMs))
  expect(first.id).toBe('the-store-of-a-fixture')
  expect(await sayAll(first, new Hours(said().nowMs))).toEqual(said())
  await first.close()
  const hours = new Hours(said().nowMs)
  const second = await open(directory, hours)
  expect(await sayAll(second, hours)).toEqual(said())
  await goOnWith(second, hours)
  await second.close()
  expect((await checkFileStore(directory)).isSound).toBe(true)
})

test('the same history is written to the same files', async () => {
  const directory = join(folder, 'written')
  expect(await writeFiles(directory, Infinity)).toEqual(said())
  const files = readdirSync(join(golden, 'file'))
  expect(readdirSync(directory)).toEqual(files)
  for (const each of files)
    expect(readFileSync(join(directory, each)).equals(readFileSync(join(golden, 'file', each))), each).toBe(true)
})
