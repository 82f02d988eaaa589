import { Attempts } from '@baton-lock/store/remote'
import type { Timing } from '@baton-lock/store/timing'
import { type Connection, createConnection, createPool, type Pool, type PoolConnection } from 'mysql2'
import { isConflict, isInterruption, isLost, Timeout } from './failures.ts'
import type { MysqlTarget } from './mysql-url.ts'
import { type Packet, query, type Results, type Run, send } from './packet.ts'
import { ensureGeneration } from './server.ts'

const PACKET_MS = 6_000
const CONNECT_MS = 3_000
const ROLLBACK_MS = 1_000
const HANG_UP_MS = 1_000
const LOCK_WAIT_S = 4
const IDLE_S = 20
const STILL_S = 2

/**
 * What every connection is set to: times are UTC, a missing row locks no gap, and what is too long is refused instead
 * of cut. Backslashes escape, or values could not be quoted safely. A process that stands still in the middle of a
 * transaction loses it, and with it the lock: soon on MariaDB, which can tell, and with any other silence on MySQL.
 */
const SESSION = `SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  innodb_lock_wait_timeout = ${LOCK_WAIT_S}, wait_timeout = ${IDLE_S} /*M! , idle_transaction_timeout = ${STILL_S} */;
  SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`

/** The pool: bounded, and never held by anybody who waits for something else than the database. */
export class Connections {
  readonly #pool: Pool
  readonly #target: MysqlTarget
  /** Connections that are known to lead to `#server`, with the bells that each has asked for. */
  readonly #bells = new WeakMap<PoolConnection, Map<string, number>>()
  readonly #attempts: Attempts
  readonly timing: Timing
  #server: string | undefined

  /** The most of them that are in use at once. */
  readonly connections: number

  constructor(target: MysqlTarget, timing: Timing) {
    this.#target = target
    this.timing = timing
    this.#attempts = new Attempts({ timing, judge })
    this.connections = target.connections
    this.#pool = createPool({
      ...optionsOf(target),
      connectionLimit: target.connections,
      maxIdle: 2,
      // Longer than from one renewal of a session to the next, and gone before the server cuts them.
      idleTimeout: IDLE_S * 750,
    })
    // Queued on the new connection ahead of whatever it is wanted for.
    this.#pool.on('connection', (connection) => {
      connection.query(SESSION, (error) => error && connection.destroy())
    })
  }

  /** Sends one packet on any connection. For what may be done twice: it is sent again where the answer was lost. */
  async query(packet: Packet): Promise<Results> {
    return this.transaction((run) => run(packet))
  }

  /**
   * Runs `work` on one connection, again from the start where the engine gave way to another or the connection was
   * lost, until the deadline. What `work` throws itself ends it.
   */
  transaction<Result>(work: (run: Run) => Promise<Result>, byMs?: number): Promise<Result> {
    return this.#attempts.run((endMs) => this.#once(work, endMs), byMs)
  }

  /** A connection of its own, outside of the pool: for whom waiting is the work. */
  async open(): Promise<Connection> {
    const connection = createConnection(optionsOf(this.#target))
    connection.on('error', () => {})
    try {
      await this.within(CONNECT_MS, query(connection, SESSION))
      return connection
    } catch (error) {
      cut(connection)
      throw error
    }
  }

  /** Work on a connection of its own, which is gone afterwards. */
  async alone<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = await this.open()
    try {
      return await work(connection)
    } finally {
      await this.hangUp(connection)
    }
  }

  /** With a word to the server, which otherwise notes that somebody was lost; at once where it does not hear. */
  async hangUp(connection: Connection): Promise<void> {
    const ended = new Promise<void>((resolve) => connection.end(() => resolve()))
    await this.within(HANG_UP_MS, ended).catch(() => cut(connection))
  }

  /** Rejects with a `Timeout` where it takes longer. */
  within<Result>(limitMs: number, promise: Promise<Result>): Promise<Result> {
    return this.timing.within(limitMs, promise, () => new Timeout(`no answer within ${Math.round(limitMs)} ms`))
  }

  async close(): Promise<void> {
    this.#attempts.close()
    const ended = new Promise<void>((resolve) => this.#pool.end(() => resolve()))
    await this.within(CONNECT_MS, ended).catch(() => {})
  }

  async #once<Result>(work: (run: Run) => Promise<Result>, endMs: number): Promise<Result> {
    const connection = await this.#checkOut(endMs)
    let isClean = false
    try {
      let bells = this.#bells.get(connection)
      if (!bells) {
        this.#server = await this.within(this.#leftMs(endMs), ensureGeneration(connection, this.#server))
        bells = new Map()
        this.#bells.set(connection, bells)
      }
      const run = (packet: Packet) => this.within(this.#leftMs(endMs), send(connection, packet))
      const result = await work(Object.assign(run, { bells }))
      isClean = true
      return result
    } catch (error) {
      if (!isLost(error)) isClean = await this.#rolledBack(connection)
      throw error
    } finally {
      if (isClean) connection.release()
      else cut(connection)
    }
  }

  async #checkOut(endMs: number): Promise<PoolConnection> {
    const taken = new Promise<PoolConnection>((resolve, reject) => {
      this.#pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection)))
    })
    try {
      return await this.within(this.#leftMs(endMs), taken)
    } catch (error) {
      if (error instanceof Timeout) void taken.then((late) => late.release()).catch(() => {})
      throw error
    }
  }

  #leftMs(endMs: number): number {
    return Math.max(1, Math.min(PACKET_MS, endMs - this.timing.monoMs()))
  }

  async #rolledBack(connection: Connection): Promise<boolean> {
    return this.within(ROLLBACK_MS, query(connection, 'ROLLBACK')).then(
      () => true,
      () => false,
    )
  }
}

function judge(error: unknown): 'again' | 'lost' | 'final' {
  if (isLost(error)) return 'lost'
  return isConflict(error) || isInterruption(error) ? 'again' : 'final'
}

function optionsOf({ connection }: MysqlTarget) {
  return {
    ...connection,
    multipleStatements: true,
    connectTimeout: CONNECT_MS,
    charset: 'utf8mb4_bin',
    enableKeepAlive: true,
  } as const
}

/** At once: a polite end would wait for a server that is busy, or gone. */
export function cut(connection: Connection): void {
  connection.destroy()
  const { stream } = connection as unknown as { readonly stream: { destroy(): void } }
  stream.destroy()
}
