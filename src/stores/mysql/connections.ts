import { type Connection, createConnection, createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { isConflict, isInterruption, isLost, Timeout, unavailable } from './failures.ts'
import type { MysqlTarget } from './mysql-url.ts'
import { settleGeneration } from './server.ts'

/** One result a statement: rows of a SELECT, or how many a change has touched. */
export type Row = Record<string, string | number | null>
export interface Change {
  readonly affectedRows: number
  readonly insertId: number
}
// biome-ignore lint/suspicious/noExplicitAny: what comes back depends on what was asked; `rows` and `change` say which.
export type Results = any[]

/** Several statements that go to the server in one packet, and their values. */
export class Packet {
  readonly #statements: string[] = []
  readonly #values: unknown[] = []

  add(statement: string, ...values: unknown[]): this {
    this.#statements.push(statement)
    this.#values.push(...values)
    return this
  }

  get size(): number {
    return this.#statements.length
  }

  get text(): string {
    return this.#statements.join(';\n')
  }

  get values(): readonly unknown[] {
    return this.#values
  }
}

/** Everything is given up before a caller has waited for so long. */
const DEADLINE_MS = 8_000
const PACKET_MS = 6_000
const CONNECT_MS = 3_000
const ROLLBACK_MS = 1_000
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
  /** Connections that are known to lead to the server of `#server`. */
  readonly #known = new WeakSet<object>()
  readonly #bells = new WeakMap<object, Map<string, number>>()
  #server: string | undefined
  #closed = false

  /** The most of them that are in use at once. */
  readonly connections: number

  constructor(target: MysqlTarget) {
    this.#target = target
    this.connections = target.connections
    this.#pool = createPool({
      ...optionsOf(target),
      connectionLimit: target.connections,
      maxIdle: 2,
      idleTimeout: IDLE_S * 750,
    })
    // Queued on the new connection ahead of whatever it is wanted for.
    this.#pool.pool.on('connection', (connection) => {
      connection.query(SESSION, (error) => error && connection.destroy())
    })
  }

  /** Sends one packet on any connection. For what may be done twice: it is sent again where the answer was lost. */
  async query(packet: Packet): Promise<Results> {
    return this.transaction((run) => run(packet))
  }

  /**
   * Runs `work` on one connection, again from the start where the engine gave way to another or the connection was
   * lost, until the deadline (`endMs`). What `work` throws itself ends it.
   */
  async transaction<Result>(work: (run: Run) => Promise<Result>, endMs = deadlineMs()): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(work, endMs)
      } catch (error) {
        const again = isConflict(error) || isInterruption(error) || isLost(error)
        if (!again || this.#closed) throw error
        const pauseMs = Math.random() * Math.min(500, 5 * 2 ** attempt)
        if (performance.now() + pauseMs > endMs) throw unavailable(error)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  /** A connection of its own, outside of the pool: for whom waiting is the work. */
  async open(): Promise<Connection> {
    const opening = createConnection(optionsOf(this.#target))
    const connection = await within(CONNECT_MS, opening).catch((error) => {
      void opening.then(cut, () => {})
      throw error
    })
    connection.on('error', () => {})
    await connection.query(SESSION)
    return connection
  }

  async close(): Promise<void> {
    this.#closed = true
    await within(CONNECT_MS, this.#pool.end()).catch(() => {})
  }

  async #once<Result>(work: (run: Run) => Promise<Result>, endMs: number): Promise<Result> {
    const connection = await this.#take(endMs)
    let isClean = false
    try {
      if (!this.#known.has(connection.connection)) {
        this.#server = await within(leftMs(endMs), settleGeneration(connection, this.#server))
        this.#known.add(connection.connection)
      }
      const run = (packet: Packet) => within(leftMs(endMs), send(connection, packet))
      const result = await work(Object.assign(run, { bells: this.#bellsOf(connection) }))
      isClean = true
      return result
    } catch (error) {
      if (!isLost(error)) isClean = await rolledBack(connection)
      throw error
    } finally {
      if (isClean) connection.release()
      else cut(connection)
    }
  }

  #bellsOf({ connection }: PoolConnection): Map<string, number> {
    const bells = this.#bells.get(connection) ?? new Map()
    this.#bells.set(connection, bells)
    return bells
  }

  async #take(endMs: number): Promise<PoolConnection> {
    const taken = this.#pool.getConnection()
    try {
      return await within(leftMs(endMs), taken)
    } catch (error) {
      if (error instanceof Timeout) void taken.then((late) => late.release()).catch(() => {})
      throw error
    }
  }
}

/** By when whoever asks now has to have an answer, by `performance.now()`. */
export function deadlineMs(): number {
  return performance.now() + DEADLINE_MS
}

function leftMs(endMs: number): number {
  return Math.max(1, Math.min(PACKET_MS, endMs - performance.now()))
}

/** Sends a packet on the connection of a transaction. */
export interface Run {
  (packet: Packet): Promise<Results>
  /** Where the bells of other processes hang, as far as this connection has asked. */
  readonly bells: Map<string, number>
}

export async function send(connection: Connection, packet: Packet): Promise<Results> {
  const [results] = await connection.query({ sql: packet.text, values: [...packet.values] })
  asText(results)
  return packet.size === 1 ? [results] : (results as Results)
}

async function rolledBack(connection: Connection): Promise<boolean> {
  return within(ROLLBACK_MS, connection.query('ROLLBACK')).then(
    () => true,
    () => false,
  )
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

/** Ids and bodies are bytes to the server and UTF-8 text to us. */
function asText(results: unknown): void {
  if (Buffer.isBuffer(results) || !Array.isArray(results)) return
  for (const row of results) {
    if (Array.isArray(row)) asText(row)
    else for (const name in row) if (Buffer.isBuffer(row[name])) row[name] = row[name].toString('utf8')
  }
}

/** At once: a polite end would wait for a server that is busy, or gone. */
export function cut(connection: Connection): void {
  connection.destroy()
  const { connection: inner } = connection as unknown as { connection: { stream: { destroy(): void } } }
  inner.stream.destroy()
}

export async function within<Result>(limitMs: number, promise: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Timeout(`no answer within ${Math.round(limitMs)} ms`)), limitMs)
  })
  promise.catch(() => {})
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
