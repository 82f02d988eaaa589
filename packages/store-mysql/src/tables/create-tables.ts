import { StoreUnavailable, UnknownFormat } from '@baton-lock/store/store'
import type { Connection } from 'mysql2'
import { isMissingTable, isUnknownColumn } from '../connection/failures.ts'
import { query } from '../connection/packet.ts'
import { refuseOtherEngines, refuseUnfit } from '../connection/server.ts'
import { onceOn } from '../connection/start.ts'
import { FORMAT, tables } from './tables.ts'

const LOCK_S = 30

/** Makes the tables of a store; where they are there, nothing happens. Says whether they were made just now. */
export async function createTablesAt(url: string): Promise<boolean> {
  return onceOn(url, async (connection) => {
    await refuseUnfit(connection)
    return createTables(connection)
  })
}

/** Of several processes that start at once, one makes the tables and the others wait for it. */
export async function createTables(connection: Connection): Promise<boolean> {
  let isNew = false
  if ((await formatOf(connection)) === undefined) {
    const name = `CONCAT('baton tables ', MD5(DATABASE()))`
    const [{ got }] = await query(connection, `SELECT GET_LOCK(${name}, ${LOCK_S}) AS got`)
    if (got !== 1) throw new StoreUnavailable(`another process has been making the tables for ${LOCK_S} s: try again`)
    isNew = (await formatOf(connection)) === undefined
    if (isNew) for (const statement of tables) await query(connection, statement)
    await query(connection, `SELECT RELEASE_LOCK(${name})`)
  }
  await refuseOtherFormats(connection)
  await refuseOtherEngines(connection)
  return isNew
}

/** Returns the format, or `undefined` if there is no store yet. */
export async function refuseOtherFormats(connection: Connection): Promise<number | undefined> {
  const found = await formatOf(connection)
  if (found === undefined || found === FORMAT) return found
  throw new UnknownFormat('the store in this database', {
    found: found === 'unknown' ? undefined : found,
    known: FORMAT,
  })
}

/** The store writes its format down last: where it is missing, the tables are not complete. */
async function formatOf(connection: Connection): Promise<number | 'unknown' | undefined> {
  try {
    const [row] = await query(connection, 'SELECT format FROM baton_store WHERE id = 1')
    return row?.format
  } catch (error) {
    if (isMissingTable(error)) return undefined
    if (isUnknownColumn(error)) return 'unknown'
    throw error
  }
}
