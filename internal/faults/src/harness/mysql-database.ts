import { join } from 'node:path'
import { type Connection, createConnection } from 'mysql2/promise'
import type { KeptStep } from '../history/shared-history.ts'
import type { Database, DatabaseFaultsOptions, DatabaseOptions } from './database.ts'
import type { Target } from './link.ts'
import { type Mariadb, startMariadb } from './mariadb.ts'
import { type Connected, MysqlFaults } from './mysql-faults.ts'

interface HistoryRow {
  readonly namespace: Buffer
  readonly resource: Buffer
  readonly step: number
  readonly body: Buffer
}

const NAME = 'baton_soak'
const PAGE = 2_000
const CONNECTIONS = 50
const CONNECTIONS_A_PROCESS = 20
const CONNECTED = `SELECT ID AS id, COMMAND AS command, INFO AS statement
  FROM information_schema.PROCESSLIST WHERE DB = ? AND ID <> CONNECTION_ID()`
const STEPS = `SELECT namespace, resource, step, body FROM baton_history WHERE step > ? ORDER BY step LIMIT ${PAGE}`

/** A MariaDB of the run's own, or somebody's database, whose connections may be killed. */
export class MysqlDatabase implements Database {
  readonly url: string
  readonly mariadb: Mariadb | undefined
  readonly killedAtMs: number[] = []
  readonly doSessionsEndLate = false

  static async open({ store, folder, processes, isForgetful }: DatabaseOptions): Promise<MysqlDatabase> {
    if (store !== 'mysql:') return new MysqlDatabase(store, undefined)
    const options = [`--max-connections=${CONNECTIONS + CONNECTIONS_A_PROCESS * processes}`]
    if (isForgetful) options.push('--innodb-flush-log-at-trx-commit=0')
    const mariadb = await startMariadb({ folder: join(folder, 'mariadb'), options })
    return new MysqlDatabase(await mariadb.createDatabase(NAME), mariadb)
  }

  constructor(url: string, mariadb: Mariadb | undefined) {
    this.url = url
    this.mariadb = mariadb
  }

  get targets(): readonly Target[] {
    const { hostname: host, port } = new URL(this.url)
    return [{ host, port: Number(port || 3306) }]
  }

  hurt(options: DatabaseFaultsOptions): void {
    new MysqlFaults({ ...options, database: this }).start()
  }

  /** As root where it is the run's own: root is let in when nobody else is any more. */
  admin(): Promise<Connection> {
    return this.mariadb ? this.mariadb.connect() : createConnection(this.url)
  }

  /** Who is connected to it, but for the one that asks. */
  async connected(admin: Connection): Promise<readonly Connected[]> {
    const [rows] = await admin.query(CONNECTED, [decodeURIComponent(new URL(this.url).pathname.slice(1))])
    return rows as Connected[]
  }

  async steps(): Promise<KeptStep[]> {
    const connection = await createConnection(this.url)
    try {
      const steps: KeptStep[] = []
      for (let isMore = true; isMore; ) {
        const [page] = await connection.query(STEPS, [steps.at(-1)?.order ?? 0])
        steps.push(...(page as HistoryRow[]).map(stepOf))
        isMore = (page as HistoryRow[]).length === PAGE
      }
      return steps
    } finally {
      connection.destroy()
    }
  }

  async stop(): Promise<void> {
    await this.mariadb?.stop()
  }
}

function stepOf({ namespace, resource, step, body }: HistoryRow): KeptStep {
  const about = { namespace: String(namespace), resource: String(resource), order: Number(step) }
  return { kind: 'step', ...about, ...JSON.parse(String(body)) }
}
