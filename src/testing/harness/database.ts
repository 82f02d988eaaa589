import { join } from 'node:path'
import { type Connection, createConnection } from 'mysql2/promise'
import type { KeptStep } from '../shared-history.ts'
import { type Mariadb, startMariadb } from './mariadb.ts'

/** A connection of somebody to the database. */
export interface Connected {
  readonly id: number
  /** `Sleep` where it does nothing. */
  readonly command: string
  /** The statement that it runs just now. */
  readonly statement: string | null
}

interface DatabaseOptions {
  /** `mysql:` alone is a MariaDB of the run's own. */
  readonly store: string
  readonly folder: string
  readonly maxConnections: number
  /** Commits stay in the memory of MariaDB for a while: what was acknowledged is lost when it is killed. */
  readonly isForgetful: boolean
}

interface HistoryRow {
  readonly namespace: Buffer
  readonly resource: Buffer
  readonly step: number
  readonly body: Buffer
}

const NAME = 'baton_soak'
const PAGE = 2_000
const CONNECTED = `SELECT ID AS id, COMMAND AS command, INFO AS statement
  FROM information_schema.PROCESSLIST WHERE DB = ? AND ID <> CONNECTION_ID()`
const STEPS = `SELECT namespace, resource, step, body FROM baton_history WHERE step > ? ORDER BY step LIMIT ${PAGE}`

/** The database of a run: one of its own, that anything may befall, or somebody's, whose connections may be killed. */
export class Database {
  readonly url: string
  readonly mariadb: Mariadb | undefined
  /** When it was killed, by the machine's clock. */
  readonly killedAtMs: number[] = []

  static async open({ store, folder, maxConnections, isForgetful }: DatabaseOptions): Promise<Database> {
    if (store !== 'mysql:') return new Database(store, undefined)
    const options = [`--max-connections=${maxConnections}`]
    if (isForgetful) options.push('--innodb-flush-log-at-trx-commit=0')
    const mariadb = await startMariadb({ folder: join(folder, 'mariadb'), options })
    return new Database(await mariadb.createDatabase(NAME), mariadb)
  }

  constructor(url: string, mariadb: Mariadb | undefined) {
    this.url = url
    this.mariadb = mariadb
  }

  get host(): string {
    return new URL(this.url).hostname
  }

  get port(): number {
    return Number(new URL(this.url).port || 3306)
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

  /** Every step that was ever taken, in the order in which those of one resource were. */
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
