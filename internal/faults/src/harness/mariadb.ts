import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { cp, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { atExit } from '@baton-lock/test-support/at-exit'
import { type Started, startProcess } from '@baton-lock/test-support/processes'
import { type Connection, createConnection, escapeId } from 'mysql2/promise'
import { freePort } from './free-port.ts'
import { dataTemplate, LOG_FILE_SIZE, mariadbProgram, userFlags } from './mariadb-template.ts'

interface MariadbOptions {
  /** Its own, which is removed when it stops; a new temporary one where none is named. */
  readonly folder?: string
  /** Options of the server, e.g. `--max-connections=500`; the last of a kind counts. */
  readonly options?: readonly string[]
}

/** Small and quick. What decides about durability is left as MariaDB has it. */
const OPTIONS = [
  '--skip-name-resolve',
  '--skip-log-bin',
  '--performance-schema=OFF',
  '--max-connections=200',
  '--innodb-buffer-pool-size=64M',
  `--innodb-log-file-size=${LOG_FILE_SIZE}`,
]
const START_MS = 60_000
const START_TRIES = 5
const AFTERWARDS_MS = 500

/** A MariaDB that is thrown away: on a port of the loopback, in a folder of its own. */
export async function startMariadb({ folder, options = [] }: MariadbOptions = {}): Promise<Mariadb> {
  const own = folder ?? (await mkdtemp(join(tmpdir(), 'baton-mariadb-')))
  const mariadb = new Mariadb(own, options)
  try {
    await mkdir(own, { recursive: true })
    await cp(await dataTemplate(), join(own, 'data'), { recursive: true })
    await mariadb.restart()
    return mariadb
  } catch (error) {
    await mariadb.stop()
    throw error
  }
}

export class Mariadb {
  readonly #folder: string
  readonly #options: readonly string[]
  readonly #forget: () => void
  #started: Started | undefined
  #isToEnd = false
  /** Where it has ended and nobody here has ended it. */
  #ownEnd: Error | undefined
  #port = 0

  constructor(folder: string, options: readonly string[]) {
    this.#folder = folder
    this.#options = options
    this.#forget = atExit(() => this.#remove())
  }

  /** Of the present process: a restart changes it. */
  get pid(): number | undefined {
    return this.#started?.isRunning ? this.#started.pid : undefined
  }

  async pause(): Promise<void> {
    await this.#started?.pause()
  }

  get port(): number {
    return this.#port
  }

  /** Where root is let in without a password. */
  get socket(): string {
    return join(this.#folder, 's')
  }

  /** Makes an empty database and a user that may do everything in it, and nothing elsewhere. Resolves with its URL. */
  async createDatabase(name: string): Promise<string> {
    const password = randomBytes(8).toString('hex')
    // Where rights are granted, an underscore stands for any character.
    const pattern = escapeId(name).replaceAll('_', '\\_')
    await this.query(`CREATE DATABASE ${escapeId(name)}`)
    await this.query("CREATE USER ?@'127.0.0.1' IDENTIFIED BY ?", [name, password])
    await this.query(`GRANT ALL ON ${pattern}.* TO ?@'127.0.0.1'`, [name])
    return `mysql://${encodeURIComponent(name)}:${password}@127.0.0.1:${this.#port}/${encodeURIComponent(name)}`
  }

  /** As root, beside the network. */
  async connect(): Promise<Connection> {
    if (this.#ownEnd) throw this.#ownEnd
    return createConnection({ socketPath: this.socket, user: 'root' })
  }

  /** As root, on a connection of its own. */
  async query<Row = unknown>(sql: string, values: readonly (string | number)[] = []): Promise<readonly Row[]> {
    const connection = await this.connect()
    try {
      return (await connection.query(sql, [...values]))[0] as Row[]
    } finally {
      connection.destroy()
    }
  }

  /**
   * Lets it go on. In two of six runs of all tests on a busy machine it was gone at that moment, for no reason that was found: then what it has said is printed,
   * and it is started again. What is shown with it is about those who use it, who have to bear both.
   */
  async resume(): Promise<void> {
    this.#started?.resume()
    // While it shuts down, it may answer once more.
    const isUp = (await this.#isReady()) && (await pause(AFTERWARDS_MS, true)) && (await this.#isReady())
    if (isUp) return
    process.emitWarning(this.#ownEnd ?? new Error(`MariaDB did not go on: ${this.#started?.complaint()}`))
    await this.restart()
  }

  /** With SIGKILL: as a crash would end it. */
  async kill(): Promise<void> {
    this.#isToEnd = true
    await this.#started?.end()
  }

  /** On the same data and the same port, ended before where it runs. Resolves when it takes connections. */
  async restart(): Promise<void> {
    await this.kill()
    const isFirst = this.#port === 0
    for (let tries = 1; ; tries++) {
      if (isFirst) this.#port = await freePort()
      this.#spawn()
      if (await this.#isReady()) return
      // Whoever has taken the port meanwhile may keep it, unless clients know it as ours.
      if (tries === START_TRIES) throw new Error(`MariaDB did not start: ${this.#started?.complaint()}`)
    }
  }

  /** Ends it, and leaves nothing. */
  async stop(): Promise<void> {
    await this.kill()
    this.#remove()
    this.#forget()
  }

  #spawn(): void {
    const folder = (name: string) => join(this.#folder, name)
    const places = [`--datadir=${folder('data')}`, `--socket=${this.socket}`, `--pid-file=${folder('pid')}`]
    const network = ['--bind-address=127.0.0.1', `--port=${this.#port}`]
    const flags = ['--no-defaults', ...userFlags(), ...places, ...network, ...OPTIONS, ...this.#options]
    const started = startProcess(mariadbProgram('mariadbd'), flags, { log: folder('log') })
    this.#started = started
    this.#isToEnd = false
    this.#ownEnd = undefined
    void started.exited.then((exit) => {
      if (this.#isToEnd) return
      this.#ownEnd = new Error(`MariaDB has ended by itself, by ${exit}: ${started.complaint()}`)
    })
  }

  /** Whether it takes connections; not so where it has ended instead. */
  async #isReady(): Promise<boolean> {
    const endMs = Date.now() + START_MS
    while (this.#started?.isRunning && Date.now() < endMs) {
      const isUp = await this.query('SELECT 1').then(
        () => true,
        () => false,
      )
      if (isUp) return this.#started.isRunning
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await this.kill()
    return false
  }

  #remove(): void {
    this.#started?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
