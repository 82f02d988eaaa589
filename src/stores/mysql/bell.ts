import type { Connection } from 'mysql2'
import { type Connections, cut, within } from './connections.ts'
import { isInterruption, isNoBell } from './failures.ts'
import type { Mailbox, MailRow } from './mailbox.ts'
import { Packet, type Run, send } from './packet.ts'

/** How long one statement listens; then the next one does. */
const LISTEN_S = 30
const RETRY_MS = 500

/**
 * How a process hears at once that it has mail. One connection waits in a statement that sleeps unless there is mail; who
 * has brought some ends that statement with `KILL QUERY`, which every user may do to its own, and the next statement of
 * the same packet reads the mail. The first one looks for mail before it sleeps, and it locks what it reads, so that it
 * neither misses what is committed meanwhile nor keeps an old view of the database alive.
 */
export class Bell {
  readonly #connections: Connections
  readonly #mailbox: Mailbox
  #connection: Connection | undefined
  #closed = false
  #end: () => void = () => {}
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve
  })

  constructor(connections: Connections, mailbox: Mailbox) {
    this.#connections = connections
    this.#mailbox = mailbox
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
        // After a time without a connection it matters at once whether anything was missed.
        const mail = await this.#hear(this.#connection, isNew ? 0 : LISTEN_S)
        if (mail && !this.#closed) await this.#mailbox.collect(mail)
        // Whoever was told something goes first.
        await new Promise((resolve) => setImmediate(resolve))
      } catch {
        if (this.#connection) cut(this.#connection)
        this.#connection = undefined
        if (!this.#closed) await this.#pause()
      }
    }
    // It may have been opened while this was stopped.
    if (this.#connection) cut(this.#connection)
  }

  /** What has come; nothing where it was stopped. */
  async #hear(connection: Connection, seconds: number): Promise<readonly MailRow[] | undefined> {
    const { where, values } = this.#mailbox.unread
    const sleep = `${bellOf(this.#mailbox.process)} IF(
      EXISTS(SELECT 1 FROM baton_mail WHERE ${where} LOCK IN SHARE MODE), 1, SLEEP(${seconds}))`
    const heard = send(connection, this.#mailbox.addUnread(new Packet().add(sleep, ...values)))
    try {
      const results = await within((seconds + 10) * 1_000, Promise.race([this.#ended, heard]))
      return results?.[1]
    } catch (error) {
      // The ring has ended the packet instead of its first statement alone: what has come is read where nobody rings.
      if (isInterruption(error)) return this.#mailbox.read()
      throw error
    }
  }

  async #pause(): Promise<void> {
    await within(RETRY_MS, this.#ended).catch(() => {})
  }
}

/** How a listening statement begins: what others know it by. */
function bellOf(process: string): string {
  return `DO /* baton bell of ${process} */`
}

/**
 * Rings at other processes: all that have gathered at a time. Where a bell hangs is looked up by what its statement says,
 * and known from then on to the connection that has asked: no server gives the number of a connection to a second one.
 */
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
      const processes = [...this.#processes]
      this.#processes.clear()
      await this.#connections.transaction((run) => ringAt(run, processes)).catch(() => {})
    }
    this.#busy = false
  }
}

async function ringAt(run: Run, processes: readonly string[]): Promise<void> {
  await look(
    run,
    processes.filter((process) => !run.bells.has(process)),
  )
  for (const process of processes) {
    if (await isRung(run, process)) continue
    // It may hang elsewhere by now.
    run.bells.delete(process)
    await look(run, [process])
    await isRung(run, process)
  }
}

async function look(run: Run, processes: readonly string[]): Promise<void> {
  if (processes.length === 0) return
  const packet = new Packet()
  for (const process of processes) packet.add(FIND, `${bellOf(process)}%`)
  const found = await run(packet)
  for (const [index, process] of processes.entries()) {
    const [bell] = found[index]
    if (bell) run.bells.set(process, bell.id)
  }
}

async function isRung(run: Run, process: string): Promise<boolean> {
  const id = run.bells.get(process)
  if (id === undefined) return true
  try {
    await run(new Packet().add(ringing(id)))
    return true
  } catch (error) {
    if (isNoBell(error)) return false
    throw error
  }
}

const FIND = 'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE ?'

/** The statement that rings at a bell. */
export function ringing(bell: number): string {
  return `KILL QUERY ${Number(bell)}`
}
