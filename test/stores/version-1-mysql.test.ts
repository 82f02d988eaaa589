import { readFileSync } from 'node:fs'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, onTestFinished, test } from 'vitest'
import { completePolicy } from '../../src/core/index.ts'
import { openMysqlStore } from '../../src/stores/mysql/index.ts'
import { type Mariadb, startMariadb } from '../../src/testing/harness/mariadb.ts'
import { check, fixtures, goOn, written } from './version-1-world.ts'

let mariadb: Mariadb
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())

test('tables of version 1 are brought up to date as they stand, and go on', async () => {
  const expected = written('mysql.json')
  const url = await mariadb.createDatabase('version_1')
  const connection = await createConnection({ uri: url })
  const statements = readFileSync(`${fixtures}mysql.sql`, 'utf8').replace(/^--.*\n/, '')
  for (const statement of statements.split(';\n')) if (statement.trim() !== '') await connection.query(statement)
  await connection.end()
  const clock = { nowMs: () => expected.nowMs }
  const store = await openMysqlStore({ url, clock, policy: completePolicy(expected.policy.policy) })
  onTestFinished(() => store.close())
  await check(store, expected)
  await goOn(store)
})
