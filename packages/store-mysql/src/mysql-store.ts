import type { Policy } from '@baton-lock/core'
import type { OpenStoreOptions } from '@baton-lock/store/kind'
import { type Backend, openRemoteStore } from '@baton-lock/store/remote'
import type { Clock, Store } from '@baton-lock/store/store'
import { systemTiming, type Timing } from '@baton-lock/store/timing'
import { MysqlBackend } from './backend.ts'
import { databaseClock, givenClock } from './connection/clock.ts'
import { Connections } from './connection/connections.ts'
import { targetOf } from './connection/mysql-url.ts'
import { query } from './connection/packet.ts'
import { refuseUnfit, refuseWithoutRights } from './connection/server.ts'
import { startPatiently } from './connection/start.ts'
import { createTables } from './tables/create-tables.ts'

/** All but the URL has a default. */
export interface MysqlStoreOptions extends Pick<OpenStoreOptions, 'onFound' | 'onSession'> {
  readonly url: string
  /** The first process writes it down; every later one must be configured alike. Absent: whatever is stored counts. */
  readonly policy?: Policy
  /** Instead of the database's own. */
  readonly clock?: Clock
  readonly timing?: Timing
  /** Every step is written to `baton_history` too, in its own transaction. */
  readonly recordHistory?: boolean
}

/** Keeps everything in a database of MySQL or MariaDB, which any number of processes share. Makes its tables. */
export async function openMysqlStore(options: MysqlStoreOptions): Promise<Store> {
  const { timing = systemTiming, policy, recordHistory, onSession } = options
  return startPatiently(timing, async () => {
    const backend = await openOnce(options)
    try {
      return await openRemoteStore(backend, { timing, policy, recordHistory, onSession })
    } catch (error) {
      await backend.close()
      throw error
    }
  })
}

/** The database by itself, ready for the engine of remote stores. */
export async function openMysqlBackend(options: MysqlStoreOptions): Promise<Backend> {
  return startPatiently(options.timing ?? systemTiming, () => openOnce(options))
}

async function openOnce(options: MysqlStoreOptions): Promise<Backend> {
  const { url, clock, timing = systemTiming, recordHistory = false, onFound } = options
  const target = targetOf(url)
  const connections = new Connections(target, timing)
  try {
    const storeId = await connections.alone(async (connection) => {
      await refuseUnfit(connection)
      const isNew = await createTables(connection)
      onFound?.({ at: target.name, isNew })
      await refuseWithoutRights(connection)
      if (recordHistory) await query(connection, HISTORY)
      const [row] = await query(connection, 'SELECT store_id FROM baton_store WHERE id = 1')
      return row.store_id as string
    })
    return new MysqlBackend(connections, clock ? givenClock(clock) : databaseClock(timing), storeId)
  } catch (error) {
    await connections.close()
    throw error
  }
}

const HISTORY = `CREATE TABLE IF NOT EXISTS baton_history (
  step BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  namespace VARBINARY(512) NOT NULL, resource VARBINARY(512) NOT NULL, body LONGBLOB NOT NULL) ENGINE=InnoDB`
