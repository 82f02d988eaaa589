import { type Random, seededRandom } from '@baton-lock/store/conformance/random'
import type { Connection } from 'mysql2/promise'
import { machineMs } from '../history/journal.ts'
import type { DatabaseFaultsOptions } from './database.ts'
import { within } from './inflictions.ts'
import { sleep } from './link.ts'
import type { Mariadb } from './mariadb.ts'

/** A connection of somebody to the database. */
export interface Connected {
  readonly id: number
  /** `Sleep` where it does nothing. */
  readonly command: string
  /** The statement that it runs just now. */
  readonly statement: string | null
}

/** What is hurt. */
interface Hurt {
  /** Nothing where it is not the run's own. */
  readonly mariadb: Mariadb | undefined
  readonly killedAtMs: number[]
  admin(): Promise<Connection>
  connected(admin: Connection): Promise<readonly Connected[]>
}

interface MysqlFaultsOptions extends DatabaseFaultsOptions {
  readonly database: Hurt
}

/** How long it is well in between, on average. */
const WELL_MS = 6_000
const CONNECTIONS_EVERY_MS = 3_000
const DOWN_MS = [200, 3_000] as const
const STOPPED_MS = [1_000, 4_000] as const
/** In bursts, because a commit is short: some of so many will be hit in it. */
const BURST_MS = [50, 600] as const

/** What befalls the database: the whole of it, where it is the run's own, and single connections. */
export class MysqlFaults {
  readonly #options: MysqlFaultsOptions
  #isWell = true
  #wasKilled = false

  constructor(options: MysqlFaultsOptions) {
    this.#options = options
  }

  start(): void {
    const { random, inflictions, database } = this.#options
    const [one, other] = [seededRandom(random.integer(2 ** 31)), seededRandom(random.integer(2 ** 31))]
    const { mariadb } = database
    // Never far apart, so that a short run meets every kind.
    const about = (each: Random, everyMs: number) => () => everyMs * (0.4 + 1.2 * each.next())
    if (mariadb) inflictions.repeat(about(one, WELL_MS), () => this.#hurt(mariadb, one))
    inflictions.repeat(about(other, CONNECTIONS_EVERY_MS), () => this.#cut(other))
  }

  async #hurt(mariadb: Mariadb, random: Random): Promise<void> {
    this.#isWell = false
    this.#wasKilled = !this.#wasKilled
    await (this.#wasKilled ? this.#kill(mariadb, random) : this.#stop(mariadb, random))
    this.#isWell = true
  }

  async #kill(mariadb: Mariadb, random: Random): Promise<void> {
    const { inflictions, database } = this.#options
    inflictions.count('database killed')
    await mariadb.kill()
    database.killedAtMs.push(machineMs())
    await inflictions.later(within(random, DOWN_MS), () => mariadb.restart())
  }

  async #stop(mariadb: Mariadb, random: Random): Promise<void> {
    const { inflictions } = this.#options
    inflictions.count('database stopped')
    await mariadb.pause()
    await inflictions.later(within(random, STOPPED_MS), () => mariadb.resume())
  }

  /** Kills connections for a moment: rather those that do something, and all of those that commit. */
  async #cut(random: Random): Promise<void> {
    const { inflictions, database } = this.#options
    while (!this.#isWell && !inflictions.isOver) await sleep(20)
    const endMs = Date.now() + within(random, BURST_MS)
    const admin = await database.admin().catch(() => undefined)
    admin?.on('error', () => {})
    try {
      while (admin && !inflictions.isOver && Date.now() < endMs) {
        for (const each of await database.connected(admin)) {
          if (!random.chance(chanceOf(each))) continue
          const isGone = await admin.query(`KILL CONNECTION ${each.id}`).then(
            () => false,
            () => true,
          )
          if (isGone) continue
          inflictions.count(isCommit(each) ? 'connection killed in its commit' : 'connection killed')
        }
        await sleep(1)
      }
    } catch {
      // The whole database has ended meanwhile.
    } finally {
      admin?.destroy()
    }
  }
}

function isCommit({ statement }: Connected): boolean {
  return statement !== null && /^\s*commit/i.test(statement)
}

function chanceOf(each: Connected): number {
  if (isCommit(each)) return 1
  return each.command === 'Sleep' ? 0.01 : 0.1
}
