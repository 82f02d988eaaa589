import type { Connection } from 'mysql2'
import { StoreUnavailable } from '../store.ts'
import { isDuplicateColumn, isMissingTable } from './failures.ts'
import { MIGRATIONS_TABLE, migrations } from './migrations.ts'
import { query } from './packet.ts'
import { refuseOtherEngines, refuseUnfit } from './server.ts'
import { onceOn } from './start.ts'

const NEWEST = migrations.at(-1)!.number
const LOCK_S = 30

/** What a migration did, and the version of the tables after it. */
export interface Migrated {
  /** The numbers of the steps that were applied just now. */
  readonly applied: readonly number[]
  readonly version: number
}

/** Brings the tables of a database up to date; where they are, nothing happens. */
export async function migrate(url: string): Promise<Migrated> {
  return onceOn(url, async (connection) => {
    await refuseUnfit(connection)
    return bringUpToDate(connection)
  })
}

/** Of several processes that start at once, one does it and the others wait for it. */
export async function bringUpToDate(connection: Connection): Promise<Migrated> {
  let version = await versionOf(connection)
  const applied: number[] = []
  if (version < NEWEST) {
    const name = `CONCAT('baton migrate ', MD5(DATABASE()))`
    const [{ got }] = await query(connection, `SELECT GET_LOCK(${name}, ${LOCK_S}) AS got`)
    if (got !== 1) throw new StoreUnavailable(`another process has been migrating for ${LOCK_S} s: try again`)
    version = await versionOf(connection)
    await query(connection, MIGRATIONS_TABLE)
    for (const { number, statements } of migrations.filter((each) => each.number > version)) {
      for (const statement of statements) await once(connection, statement)
      await query(connection, 'INSERT IGNORE INTO baton_migrations (number) VALUES (?)', number)
      applied.push(number)
      version = number
    }
    await query(connection, `SELECT RELEASE_LOCK(${name})`)
  }
  if (version > NEWEST) {
    throw new StoreUnavailable(
      `the tables are of version ${version}, this Baton knows ${NEWEST}: upgrade it, older processes are refused`,
    )
  }
  await refuseOtherEngines(connection)
  return { applied, version }
}

/** A process may have died after a statement and before it was noted: a column that is there is none to add. */
async function once(connection: Connection, statement: string): Promise<void> {
  await query(connection, statement).catch((error) => {
    if (!isDuplicateColumn(error)) throw error
  })
}

async function versionOf(connection: Connection): Promise<number> {
  try {
    const [row] = await query(connection, 'SELECT MAX(number) AS version FROM baton_migrations')
    return row.version ?? 0
  } catch (error) {
    if (isMissingTable(error)) return 0
    throw error
  }
}
