// needs: mariadb
import { readFileSync, writeFileSync } from 'node:fs'
import { type Mariadb, startMariadb } from '@baton-lock/faults/harness/mariadb'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  BEGIN_MS,
  configured,
  golden,
  goOnWith,
  Hours,
  isRewritten,
  said,
  sayAll,
  write,
} from '../../store/test/golden-world.ts'
import { openMysqlStore } from '../src/index.ts'

let mariadb: Mariadb
beforeAll(async () => {
  mariadb = await startMariadb()
}, 120_000)
afterAll(() => mariadb.stop())

const DUMP = `${golden}mysql.sql`

async function open(url: string, clock: Hours) {
  const store = await openMysqlStore({ url, clock })
  onTestFinished(() => store.close())
  return store
}

/** A database with what the dump has in it. */
async function databaseOf(name: string): Promise<string> {
  const url = await mariadb.createDatabase(name)
  const connection = await createConnection({ uri: url })
  const statements = readFileSync(DUMP, 'utf8').replace(/^--.*\n/, '')
  for (const statement of statements.split(';\n')) if (statement.trim() !== '') await connection.query(statement)
  await connection.end()
  return url
}

test('the same history leads to what the golden stores say', async () => {
  const url = await mariadb.createDatabase('written')
  const hours = new Hours(BEGIN_MS)
  const store = await openMysqlStore({ url, clock: hours, policy: configured })
  onTestFinished(() => store.close())
  expect(await write(store, hours)).toEqual(said())
  if (isRewritten) writeFileSync(DUMP, await dumpOf('written'))
})

test('golden tables are as they were left, and go on', async () => {
  const hours = new Hours(said().nowMs)
  const store = await open(await databaseOf('golden'), hours)
  expect(store.id).toBe('the-store-of-a-fixture')
  expect(await sayAll(store, hours)).toEqual(said())
  await goOnWith(store, hours)
})

/** What belongs to the machine, and is another every time. */
const REPLACED: Readonly<Record<string, string>> = {
  process: '0x70',
  server: 'NULL',
  hearers: 'NULL',
  store_id: `'the-store-of-a-fixture'`,
}

async function dumpOf(database: string): Promise<string> {
  const lines = ['-- Bytes as hex. What is another on every machine is made up: the process, the id of the store.']
  const tables = await mariadb.query<Record<string, string>>(`SHOW TABLES FROM ${database}`)
  for (const table of tables.flatMap((row) => Object.values(row)).sort()) {
    const [created] = await mariadb.query<Record<string, string>>(`SHOW CREATE TABLE ${database}.${table}`)
    lines.push('', `${created!['Create Table']!.replace(/ AUTO_INCREMENT=\d+/, '')};`)
    if (table === 'baton_mail') continue
    for (const row of await mariadb.query<object>(`SELECT * FROM ${database}.${table}`)) {
      const values = Object.entries(row).map(([column, value]) => REPLACED[column] ?? literal(value))
      lines.push(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')});`)
    }
  }
  return `${lines.join('\n')}\n`
}

function literal(value: unknown): string {
  if (value === null) return 'NULL'
  if (Buffer.isBuffer(value)) return value.length === 0 ? `''` : `0x${value.toString('hex')}`
  return typeof value === 'number' ? `${value}` : `'${value}'`
}
