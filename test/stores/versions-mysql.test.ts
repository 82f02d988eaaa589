import { readFileSync } from 'node:fs'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { completePolicy } from '../../src/core/index.ts'
import { checkMysqlStore, migrate, openMysqlStore } from '../../src/stores/mysql/index.ts'
import { type Mariadb, startMariadb } from '../../src/testing/harness/mariadb.ts'
import { check, fixtures, goOn, written } from './version-1-world.ts'
import { checkSaid, folderOf, goOnWith, Hours, saidOf, versions } from './versions-world.ts'

let mariadb: Mariadb
let databases = 0
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())

/** A database with what a dump has in it. */
async function databaseOf(dump: string): Promise<string> {
  const url = await mariadb.createDatabase(`version_${++databases}`)
  const connection = await createConnection({ uri: url })
  const statements = readFileSync(dump, 'utf8').replace(/^--.*\n/, '')
  for (const statement of statements.split(';\n')) if (statement.trim() !== '') await connection.query(statement)
  await connection.end()
  return url
}

test('tables of version 1 are brought up to date as they stand, and go on', async () => {
  const expected = written('mysql.json')
  const url = await databaseOf(`${fixtures}mysql.sql`)
  const clock = { nowMs: () => expected.nowMs }
  const store = await openMysqlStore({ url, clock, policy: completePolicy(expected.policy.policy) })
  onTestFinished(() => store.close())
  await check(store, expected)
  await goOn(store)
})

test.each(versions)('tables of %s are brought up to date as they stand, and go on', async (version) => {
  const said = saidOf(version)
  const url = await databaseOf(`${folderOf(version)}/mysql.sql`)
  const hours = new Hours(said.nowMs)
  const store = await openMysqlStore({ url, clock: hours, policy: completePolicy(said.policy.policy) })
  onTestFinished(() => store.close())
  expect(store.id).toBe('the-store-of-a-fixture')
  await checkSaid(store, said)
  await goOnWith(store, hours)
})

test.each(versions)(
  'tables of %s with the number of a migration that is not known yet are refused',
  async (version) => {
    const url = await databaseOf(`${folderOf(version)}/mysql.sql`)
    const { version: own } = await migrate(url)
    const connection = await createConnection({ uri: url })
    await connection.query('INSERT INTO baton_migrations (number) VALUES (?)', [own + 1])
    await connection.end()
    const refusal = `the tables are of version ${own + 1}, this Baton knows ${own}: upgrade it, older processes are refused`
    await expect(openMysqlStore({ url })).rejects.toThrow(refusal)
    await expect(migrate(url)).rejects.toThrow(refusal)
    expect(await checkMysqlStore(url)).toContain(`tables of version ${own + 1} of ${own}`)
  },
)
