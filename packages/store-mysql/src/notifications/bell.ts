import type { Connection } from 'mysql2'
import { type Connections, cut } from '../connection/connections.ts'
import { isInterruption, isNoBell } from '../connection/failures.ts'
import { Packet, query, type Run, send } from '../connection/packet.ts'
import type { Mailbox } from './mail.ts'

/** How long one statement listens; then the next one does. */
const LISTEN_S = 30
/** The gate has nothing to do, and must not be cut for that. */
const GATE_IDLE_S = 3_600
const GATE_WAIT_S = 5
const RETRY_MS = 500
const COLLECT_MS = 6_000
const CLEAR_AFTER_MS = 5

type Heard = 'mail' | 'gate' | 'nothing'

/**
 * How a process hears at once that it has mail. One connection, the bell, waits in a statement for a lock that another one
 * of this process, the gate, has all the time; who has brought mail ends that statement with `KILL QUERY`, which every user
 * may do to its own. (A statement that sleeps would do as well, but MariaDB wakes several of them only after seconds: see
 * docs/decisions/0010.) The statement looks for mail before it waits, and it locks what it reads, so that it neither misses
 * what is committed meanwhile nor keeps an old view of the database alive. It waits only where there is none, so nothing
 * stays locked. It is a packet by itself: one of several statements that is ended between two of them is never answered.
 */
export class Bell {
  readonly #connections: Connections
  readonly #mailbox: Mailbox
  #gate: Connection | undefined
  #bell: Connection | undefined
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
        this.#gate ??= await this.#openGate()
        const isNew = this.#bell === undefined
        this.#bell ??= await this.#connections.open()
        // After a time without a connection it matters at once whether anything was missed.
        const heard = await this.#hear(this.#bell, isNew ? 0 : LISTEN_S)
        if (this.#closed) break
        if (heard === 'gate') throw new Error('the gate was lost')
        await this.#collect(this.#bell, heard === 'mail')
        await this.#connections.within(COLLECT_MS, query(this.#gate, 'DO 0'))
      } catch (error) {
        // Somebody else rang meanwhile: what has come is still there.
        if (isInterruption(error)) continue
        this.#cut()
        if (!this.#closed) await this.#connections.within(RETRY_MS, this.#ended).catch(() => {})
      }
    }
    await this.#leave()
  }

  async #openGate(): Promise<Connection> {
    const gate = await this.#connections.open()
    await query(gate, `SET SESSION wait_timeout = ${GATE_IDLE_S}`)
    await this.#connections.within(2_000 * GATE_WAIT_S, query(gate, `DO GET_LOCK(?, ${GATE_WAIT_S})`, this.#gateName))
    return gate
  }

  get #gateName(): string {
    return `baton gate ${this.#mailbox.process}`
  }

  #cut(): void {
    for (const connection of [this.#bell, this.#gate]) if (connection) cut(connection)
    this.#bell = undefined
    this.#gate = undefined
  }

  /** Not without a word: a statement that waits does not notice that nobody listens to it any more. */
  async #leave(): Promise<void> {
    const [bell, gate] = [this.#bell, this.#gate]
    if (bell) await this.#connections.query(new Packet().add(ringing(bell.threadId))).catch(() => {})
    for (const connection of [bell, gate]) if (connection) await this.#connections.hangUp(connection)
  }

  /** `gate`: the bell has the lock itself, so the gate has gone. */
  async #hear(bell: Connection, seconds: number): Promise<Heard> {
    const { process } = this.#mailbox
    try {
      const statement = `${bellOf(process)} IF(${HAS_MAIL}, 'mail',
        CASE GET_LOCK(?, ${seconds}) WHEN 1 THEN 'gate' WHEN 0 THEN 'nothing' ELSE 'mail' END) AS heard`
      const heard = query(bell, statement, process, this.#gateName)
      const rows = await this.#connections.within((seconds + 10) * 1_000, Promise.race([this.#ended, heard]))
      return rows?.[0].heard ?? 'nothing'
    } catch (error) {
      if (!isInterruption(error)) throw error
      return 'mail'
    }
  }

  /** Here, where the server is awake already. */
  async #collect(bell: Connection, hasMail: boolean): Promise<void> {
    const run = (packet: Packet) => this.#connections.within(COLLECT_MS, send(bell, packet))
    if (hasMail) await this.#mailbox.readAll(run)
    // Whoever was told something has better things to do now.
    if (hasMail) await this.#connections.timing.pause(CLEAR_AFTER_MS)
    await this.#mailbox.clear(run)
    await this.#mailbox.noteRead()
  }
}

/** By the one index that leads to no other process's mail: what is looked at stays locked while it waits. */
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
  #working = Promise.resolve()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  ring(processes: readonly string[]): void {
    for (const process of processes) this.#processes.add(process)
    if (!this.#busy && this.#processes.size > 0) this.#working = this.#work()
  }

  /** When everybody has been rung at who was to be: whoever closes before that leaves them listening for half a minute. */
  done(): Promise<void> {
    return this.#working
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
  await findBells(
    run,
    processes.filter((process) => !run.bells.has(process)),
  )
  for (const process of processes) {
    if (await isRung(run, process)) continue
    // It may hang elsewhere by now.
    run.bells.delete(process)
    await findBells(run, [process])
    await isRung(run, process)
  }
}

async function findBells(run: Run, processes: readonly string[]): Promise<void> {
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
