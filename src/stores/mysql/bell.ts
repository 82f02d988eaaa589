import type { Connection } from 'mysql2/promise'
import { type Connections, cut, Packet, within } from './connections.ts'
import { isInterruption } from './failures.ts'

/** How long one statement listens; then the next one does. */
const LISTEN_S = 30
const RETRY_MS = 500

/** What has ended the listening. */
export interface Ring {
  readonly hasMail: boolean
}

/**
 * How a process hears at once that it has mail. One connection waits in a statement that sleeps unless there is mail; who
 * has brought some ends that statement with `KILL QUERY`, which every user may do to its own. The statement looks for mail
 * before it sleeps, and it locks what it reads, so that it neither misses what is committed meanwhile nor keeps an old
 * view of the database alive.
 */
export class Bell {
  readonly #connections: Connections
  readonly #process: string
  readonly #onRing: (ring: Ring) => Promise<void>
  #connection: Connection | undefined
  #closed = false
  #end: () => void = () => {}
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve
  })

  constructor(
    connections: Connections,
    { process, onRing }: { readonly process: string; readonly onRing: (ring: Ring) => Promise<void> },
  ) {
    this.#connections = connections
    this.#process = process
    this.#onRing = onRing
  }

  start(): void {
    void this.#listen()
  }

  stop(): void {
    this.#closed = true
    if (this.#connection) cut(this.#connection)
    this.#end()
  }

  async #listen(): Promise<void> {
    while (!this.#closed) {
      try {
        const isNew = this.#connection === undefined
        this.#connection ??= await this.#connections.open()
        if (isNew) await this.#onRing({ hasMail: true })
        const hasMail = await hear(this.#connection, { process: this.#process, orUntil: this.#ended })
        if (!this.#closed) await this.#onRing({ hasMail })
      } catch {
        if (this.#connection) cut(this.#connection)
        this.#connection = undefined
        if (!this.#closed) await this.#pause()
      }
    }
    // It may have been opened while this was stopped.
    if (this.#connection) cut(this.#connection)
  }

  async #pause(): Promise<void> {
    await within(RETRY_MS, this.#ended).catch(() => {})
  }
}

/** Whether it rang: there is mail, or it has listened for long enough. */
async function hear(
  connection: Connection,
  { process, orUntil }: { readonly process: string; readonly orUntil: Promise<void> },
): Promise<boolean> {
  const statement = `${bellOf(process)} IF(
    EXISTS(SELECT 1 FROM baton_mail WHERE process = ? LOCK IN SHARE MODE), 1, SLEEP(${LISTEN_S})) AS rang`
  try {
    const heard = connection.query(statement, [process]) as Promise<unknown> as Promise<[[{ rang: number }]]>
    const result = await within((LISTEN_S + 10) * 1_000, Promise.race([orUntil, heard]))
    return result?.[0][0].rang === 1
  } catch (error) {
    if (!isInterruption(error)) throw error
    return true
  }
}

/** How a listening statement begins: what others know it by. */
function bellOf(process: string): string {
  return `SELECT /* baton bell of ${process} */`
}

/** Rings at other processes: all that have gathered at a time. */
export class Ringer {
  readonly #connections: Connections
  #processes = new Set<string>()
  #busy = false

  constructor(connections: Connections) {
    this.#connections = connections
  }

  ring(processes: readonly string[]): void {
    for (const process of processes) this.#processes.add(process)
    if (!this.#busy && this.#processes.size > 0) void this.#work()
  }

  /** Who is not rung at hears of its mail when it listens next: nothing is lost, so nothing is said of failures. */
  async #work(): Promise<void> {
    this.#busy = true
    while (this.#processes.size > 0) {
      const processes = this.#processes
      this.#processes = new Set()
      await this.#ringAt(processes).catch(() => {})
    }
    this.#busy = false
  }

  /** By what they are doing, not by a number that may be somebody else's by now. */
  async #ringAt(processes: ReadonlySet<string>): Promise<void> {
    const any = [...processes].map(() => 'INFO LIKE ?').join(' OR ')
    const find = `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND (${any})`
    const [rows] = await this.#connections.query(
      new Packet().add(find, ...[...processes].map((each) => `${bellOf(each)}%`)),
    )
    for (const { id } of rows)
      await this.#connections.query(new Packet().add(`KILL QUERY ${Number(id)}`)).catch(() => {})
  }
}
