import { query } from '../connection/packet.ts'
import { refuseOtherEngines, refuseUnfit, refuseWithoutRights } from '../connection/server.ts'
import { onceOn } from '../connection/start.ts'
import { refuseOtherFormats } from './create-tables.ts'

/** Whether a database will do, and what is in it. Changes nothing; what will not do is thrown. */
export async function checkMysqlStore(url: string): Promise<string[]> {
  return onceOn(url, async (connection) => {
    await refuseUnfit(connection)
    await refuseOtherEngines(connection)
    const [{ version, flush }] = await query(
      connection,
      'SELECT VERSION() AS version, @@innodb_flush_log_at_trx_commit AS flush',
    )
    await refuseWithoutRights(connection)
    const format = await refuseOtherFormats(connection)
    const findings = [`${version}, InnoDB: it will do`]
    if (flush !== 1) {
      findings.push(
        `innodb_flush_log_at_trx_commit is ${flush}: what was acknowledged may be lost with the power; set it to 1`,
      )
    }
    if (format === undefined) {
      return [
        ...findings,
        'there are no tables yet: the first start makes them, if its user may; `baton store create URL` does it now',
      ]
    }
    const [counts] = await query(
      connection,
      `SELECT (SELECT COUNT(*) FROM baton_resources) AS resources,
        (SELECT COUNT(*) FROM baton_resources WHERE grants > 0) AS held,
        (SELECT COUNT(*) FROM baton_waiters) AS waiters, (SELECT COUNT(*) FROM baton_sessions) AS sessions`,
    )
    findings.push(`tables of format ${format}`)
    findings.push(
      `${counts.resources} resources (${counts.held} held), ${counts.waiters} waiters, ${counts.sessions} sessions`,
    )
    return findings
  })
}
