import type { Connection } from 'mysql2'
import { type Connections, cut, hangUp, within } from './connections.ts'
import { isInterruption, isNoBell } from './failures.ts'
import type { Mailbox } from './mailbox.ts'
import { ask, Packet, type Run, send } from './packet.ts'

/** How long one statement listens; then the next one does. */
const LISTEN_S = 30
const RETRY_MS = 500
const COLLECT_MS = 6_000
const CLEAR_AFTER_MS = 5

/**
 * How a process hears at once that it has mail. One connection waits in a statement that sleeps unless there is mail; who
 * has brought some ends that statement with `KILL QUERY`, which every user may do to its own. The statement looks for mail
 * before it sleeps, and it locks what it reads, so that it neither misses what is committed meanwhile nor keeps an old
 * view of the database alive. It sleeps only where there is none, so nothing stays locked. It is a packet by itself: one
 * of several statements that is ended between two of them is never answered.
 */
export class Bell {
  readonly #connections: Connections
  readonly #mailbox: Mailbox
  #connection: Connection | undefined
  #listening = Promise.resolve()
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
    this.#listening = this.#listen()
  }

  async stop(): Promise<void> {
    this.#closed = true
    this.#end()
    await this.#listening
  }

  async #listen(): Promise<void> {
    while (!this.#closed) {
      try {
        const isNew = this.#connection === undefined
        this.#connection ??= await this.#connections.open()
        // After a time without a connection it matters at once whether anything was missed.
        const hasMail = await this.#hear(this.#connection, isNew ? 0 : LISTEN_S)
        if (!this.#closed) await this.#collect(this.#connection, hasMail)
      } catch (error) {
        // Somebody else rang meanwhile: what has come is still there.
        if (isInterruption(error)) continue
        if (this.#connection) cut(this.#connection)
        this.#connection = undefined
        if (!this.#closed) await this.#pause()
      }
    }
    if (this.#connection) await this.#leave(this.#connection)
  }

  /** Not without a word: a statement that sleeps does not notice that nobody listens to it any more. */
  async #leave(connection: Connection): Promise<void> {
    await this.#connections.query(new Packet().add(ringing(connection.threadId))).catch(() => {})
    await hangUp(connection)
  }

  /** Whether there is mail; not so where it has listened for long enough, or was stopped. */
  async #hear(connection: Connection, seconds: number): Promise<boolean> {
    const { process } = this.#mailbox
    try {
      const heard = ask(connection, `${bellOf(process)} IF(${HAS_MAIL}, 1, SLEEP(${seconds})) AS rang`, process)
      const rows = await within((seconds + 10) * 1_000, Promise.race([this.#ended, heard]))
      return rows?.[0].rang === 1
    } catch (error) {
      if (!isInterruption(error)) throw error
      return true
    }
  }

  /** Here, where the server is awake already. */
  async #collect(connection: Connection, hasMail: boolean): Promise<void> {
    const run = (packet: Packet) => within(COLLECT_MS, send(connection, packet))
    if (hasMail) this.#mailbox.take(await this.#mailbox.read(run))
    // Whoever was told something has better things to do now.
    if (hasMail) await new Promise((resolve) => setTimeout(resolve, CLEAR_AFTER_MS))
    await this.#mailbox.clear(run)
    await this.#mailbox.hasLooked()
  }

  async #pause(): Promise<void> {
    await within(RETRY_MS, this.#ended).catch(() => {})
  }
}

/** By the one index that leads to no other process's mail: what is looked at stays locked while it sleeps. */
const HAS_MAIL = 'EXISTS(SELECT 1 FROM baton_mail FORCE INDEX (PRIMARY) WHERE process = ? LOCK IN SHARE MODE)'

/** How a listening statement begins: what others know it by. */
function bellOf(process: string): string {
  return `SELECT /* baton bell of ${process} */`
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
