import type { Connection } from 'mysql2'
import { Connections } from './connections.ts'
import { unavailable } from './failures.ts'
import { migrations } from './migrations.ts'
import { targetOf } from './mysql-url.ts'
import { ask, Packet, send } from './packet.ts'
import { refuseOtherEngines, refuseUnfit } from './server.ts'

/** Whether a database will do, and what is in it. Changes nothing; what will not do is thrown. */
export async function checkMysqlStore(url: string): Promise<string[]> {
  const connections = new Connections(targetOf(url))
  try {
    return await connections.alone(async (connection) => {
      await refuseUnfit(connection)
      await refuseOtherEngines(connection)
      const [{ version, flush }] = await ask(
        connection,
        'SELECT VERSION() AS version, @@innodb_flush_log_at_trx_commit AS flush',
      )
      const tables = await tablesOf(connection)
      const findings = [`${version}, InnoDB: it will do`]
      if (flush !== 1) {
        findings.push(
          `innodb_flush_log_at_trx_commit is ${flush}: what was acknowledged may be lost with the power; set it to 1`,
        )
      }
      if (tables.length === 0) return [...findings, 'there are no tables yet: `baton store migrate URL` makes them']
      await tryRights(connection, tables)
      const [{ number }] = await ask(connection, 'SELECT MAX(number) AS number FROM baton_migrations')
      const [counts] = await ask(
        connection,
        `SELECT (SELECT COUNT(*) FROM baton_resources) AS resources,
        (SELECT COUNT(*) FROM baton_resources WHERE grants > 0) AS held,
        (SELECT COUNT(*) FROM baton_waiters) AS waiters, (SELECT COUNT(*) FROM baton_sessions) AS sessions`,
      )
      findings.push(`tables of version ${number} of ${migrations.at(-1)!.number}`)
      findings.push(
        `${counts.resources} resources (${counts.held} held), ${counts.waiters} waiters, ${counts.sessions} sessions`,
      )
      return findings
    })
  } catch (error) {
    throw unavailable(error)
  } finally {
    await connections.close()
  }
}

interface Table {
  readonly name: string
  readonly column: string
}

async function tablesOf(connection: Connection): Promise<readonly Table[]> {
  const statement = `SELECT TABLE_NAME AS name, MIN(COLUMN_NAME) AS \`column\` FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'baton\\_%' GROUP BY TABLE_NAME`
  return ask(connection, statement)
}

/** Whoever lacks a right is refused before it is seen that no row is meant. */
async function tryRights(connection: Connection, tables: readonly Table[]): Promise<void> {
  for (const { name, column } of tables) {
    const packet = new Packet()
      .add('INSERT INTO ?? SELECT * FROM ?? WHERE 1 = 0', name, name)
      .add('UPDATE ?? SET ?? = ?? WHERE 1 = 0', name, column, column)
      .add('DELETE FROM ?? WHERE 1 = 0', name)
    await send(connection, packet)
  }
}
