import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Command, completePolicy, isSamePolicy, type Policy } from '../../src/core/index.ts'
import { openFileStore } from '../../src/stores/file/index.ts'
import { openMysqlStore } from '../../src/stores/mysql/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { type Mariadb, startMariadb } from '../../src/testing/harness/mariadb.ts'

/* What the version before wrote is opened and goes on. How it was written: test/fixtures/version-1/README.md. */

const fixtures = fileURLToPath(new URL('../fixtures/version-1/', import.meta.url))

interface Written {
  readonly nowMs: number
  readonly configured: Policy
  readonly policy: { readonly version: number; readonly policy: Policy }
  readonly sessions: readonly { readonly session: string; readonly places: readonly object[] }[]
  readonly views: Readonly<Record<string, object>>
  readonly standings: readonly [Parameters<Store['standing']>[0], object][]
}

const written = (name: string): Written => JSON.parse(readFileSync(join(fixtures, name), 'utf8'))
const queue = { namespace: 'default', resource: 'r-queue' }
const folders: string[] = []
const stores: Store[] = []
let mariadb: Mariadb

beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())
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

/** Everything is as that version said. */
async function check(store: Store, { views, standings, sessions, policy }: Written): Promise<void> {
  for (const [name, view] of Object.entries(views)) {
    const [namespace = '', resource = ''] = name.split('/')
    expect([name, await store.read({ namespace, resource })]).toEqual([name, view])
  }
  for (const [ask, standing] of standings) expect([ask, await store.standing(ask)]).toEqual([ask, standing])
  for (const { session, places } of sessions) expect(await store.places(session)).toMatchObject(places)
  const present = await store.policy()
  expect(present.version).toBe(policy.version)
  expect(isSamePolicy(present.policy, completePolicy(policy.policy))).toBe(true)
  expect(present.policy.namespaces.default!.operations.delete).toMatchObject({ dropsReferences: true })
  expect(present.policy.namespaces.default!.operations.bake).toMatchObject({ dropsReferences: false })
}

/** Who held releases, who waited is next, and the sessions of then take with them what hangs off them. */
async function goOn(store: Store): Promise<void> {
  const step = (command: Command) => store.step(queue, command)
  const end = { type: 'release', operation: 'lock', outcome: 'failure', error: 'x' } as const
  expect(await step({ ...end, owner: 'o1', hold: 'h1', fence: 1 })).toMatchObject({ status: 'released' })
  expect(await step({ ...end, owner: 'o1', hold: 'h1', fence: 1 })).toMatchObject({ status: 'released' })
  expect((await store.read(queue))?.grants).toMatchObject([{ node: 'n2', owner: 'o2', fence: 2, claimed: false }])
  await store.closeSession('s2')
  expect((await store.read(queue))?.grants).toMatchObject([{ node: 'n3', fence: 3 }])
  expect(await store.places('s1')).toEqual([])
  expect(await store.places('s2')).toBeUndefined()
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
    expect(readFileSync(join(directory, 'format'), 'utf8')).toContain('format 2')
  },
)

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

test('tables of version 1 are brought up to date as they stand, and go on', async () => {
  const expected = written('mysql.json')
  const url = await mariadb.createDatabase('version_1')
  const connection = await createConnection({ uri: url })
  const statements = readFileSync(join(fixtures, 'mysql.sql'), 'utf8').replace(/^--.*\n/, '')
  for (const statement of statements.split(';\n')) if (statement.trim() !== '') await connection.query(statement)
  await connection.end()
  const clock = { nowMs: () => expected.nowMs }
  const store = await openMysqlStore({ url, clock, policy: completePolicy(expected.policy.policy) })
  stores.push(store)
  await check(store, expected)
  await goOn(store)
})
