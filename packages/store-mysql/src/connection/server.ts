import { StoreUnavailable } from '@baton-lock/store/store'
import type { Connection } from 'mysql2'
import { Packet, query, send } from './packet.ts'

/** Servers that are known not to do, each with the sentence that says what to do instead. */
export async function refuseUnfit(connection: Connection): Promise<void> {
  const [{ version }] = await query(connection, 'SELECT VERSION() AS version')
  const isMariadb = /mariadb/i.test(version)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = isMariadb ? major < 10 || (major === 10 && minor < 6) : major < 8
  if (isOld) throw new StoreUnavailable(`${version} is too old: MariaDB 10.6 or MySQL 8.0 is the least that works`)
  const variables = await query(
    connection,
    `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'group_replication_single_primary_mode', 'read_only')`,
  )
  const status = await query(connection, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size')`)
  const values = new Map<string, string>()
  for (const { Variable_name: name, Value: value } of [...variables, ...status]) values.set(name, value)
  if (values.get('wsrep_on') === 'ON' && Number(values.get('wsrep_cluster_size') ?? 0) > 1) {
    throw new StoreUnavailable(
      'a Galera cluster takes writes on several nodes and does not lock rows across them: two could hold one lock. ' +
        'Use a server that is not part of one',
    )
  }
  if (values.get('group_replication_single_primary_mode') === 'OFF') {
    throw new StoreUnavailable(
      'group replication with several primaries does not lock rows across them: use one primary',
    )
  }
  if (values.get('read_only') === 'ON') {
    throw new StoreUnavailable('the database is read-only: connect to the server that takes writes')
  }
}

/** Tables that somebody has made with another engine would neither lock nor roll back. */
export async function refuseOtherEngines(connection: Connection): Promise<void> {
  const [other] = await query(
    connection,
    `SELECT TABLE_NAME AS name, ENGINE AS engine FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'baton\\_%' AND ENGINE <> 'InnoDB'`,
  )
  if (other) {
    throw new StoreUnavailable(
      `table ${other.name} is ${other.engine}, which has no transactions: \`ALTER TABLE ${other.name} ENGINE=InnoDB\``,
    )
  }
}

/** So many fences belong to a generation. */
export const GENERATION_FENCES = 2 ** 32

const IDENTITY = `CONCAT_WS(':', @@hostname, @@port, @@server_id, @@datadir)`

/**
 * A server that takes over from another may have missed its last commits, and with them its last fences. So each server
 * that is seen writing has a generation of its own, in the high bits of every fence.
 */
export async function ensureGeneration(connection: Connection, known: string | undefined): Promise<string> {
  const [{ identity }] = await query(connection, `SELECT ${IDENTITY} AS identity`)
  if (identity === known) return identity
  await query(connection, 'START TRANSACTION')
  const same = `SELECT server = ${IDENTITY} AS same FROM baton_store WHERE id = 1 FOR UPDATE`
  const [row] = await query(connection, same)
  if (row.same === null) await query(connection, `UPDATE baton_store SET server = ${IDENTITY} WHERE id = 1`)
  if (row.same === 0) {
    await query(connection, `UPDATE baton_store SET server = ${IDENTITY}, generation = generation + 1 WHERE id = 1`)
    await query(
      connection,
      `UPDATE baton_shards SET fence_floor = GREATEST(fence_floor,
        (SELECT generation FROM baton_store WHERE id = 1) * ${GENERATION_FENCES})`,
    )
  }
  await query(connection, 'COMMIT')
  return identity
}

/** Whoever lacks a right is refused before it is seen that no row is meant. */
export async function refuseWithoutRights(connection: Connection): Promise<void> {
  const columns = `SELECT TABLE_NAME AS name, MIN(COLUMN_NAME) AS \`column\` FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'baton\\_%' GROUP BY TABLE_NAME`
  const tables: readonly { readonly name: string; readonly column: string }[] = await query(connection, columns)
  const packet = new Packet()
  for (const { name, column } of tables) {
    packet.add('INSERT INTO ?? SELECT * FROM ?? WHERE 1 = 0', name, name)
    packet.add('UPDATE ?? SET ?? = ?? WHERE 1 = 0', name, column, column)
    packet.add('DELETE FROM ?? WHERE 1 = 0', name)
  }
  if (tables.length > 0) await send(connection, packet)
}
