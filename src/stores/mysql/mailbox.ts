import { randomBytes } from 'node:crypto'
import type { Event } from '../../core/index.ts'
import type { Address, StoreEvent } from '../store.ts'
import type { DatabaseClock } from './clock.ts'
import type { Connections } from './connections.ts'
import { enterHearer, strikeOffHearer } from './hearers.ts'
import { Packet, type Run } from './packet.ts'
import type { Loaded } from './resource-row.ts'

/** What one transaction has done to one resource, as it is told to other processes. */
export interface Letter extends Address {
  readonly atMs: number
  readonly dueAtMs: number | undefined
  readonly events: readonly Event[]
}

export interface MailRow {
  readonly id: number
  readonly body: string
}

/** Mail is kept for as long; who has not read it for nearly as long may have missed some. */
export const MAIL_MS = 60_000
const GAP_MS = 45_000
/** One who hears all says so again as often; it is struck off after three times as long. */
const ENTER_MS = 25_000
const REMEMBERED = 20_000
const DELETED_TOGETHER = 8
/** No mail has this number. */
const NOBODYS = 0

/**
 * How events reach the processes that they concern: as rows that are written in the transaction of the step, and
 * deleted by their reader. A step on what another process has changed last takes the mail along that is there when it has
 * its lock, so nobody hears of a resource's steps in another order than they were taken in.
 */
export class Mailbox {
  readonly process = randomBytes(9).toString('hex')
  /** The sessions that were opened or renewed here, with their ttl. */
  readonly sessions = new Map<string, number>()
  readonly #connections: Connections
  readonly #clock: DatabaseClock
  readonly #deliver: (letter: Letter) => void
  readonly #missed: () => void
  /** Read already. Their rows may still be there, or be seen once more by one who read at the same time. */
  readonly #read = new Set<number>()
  readonly #toDelete = new Set<number>()
  #collectedAtMs = performance.now()
  #hearsAll: Promise<unknown> | undefined
  #enteredAtMs = 0

  constructor(
    connections: Connections,
    clock: DatabaseClock,
    { deliver, missed }: { readonly deliver: (letter: Letter) => void; readonly missed: () => void },
  ) {
    this.#connections = connections
    this.#clock = clock
    this.#deliver = deliver
    this.#missed = missed
  }

  /** From when it resolves, every event of every process comes here. */
  hearAll(): Promise<void> {
    this.#hearsAll ??= this.#enter().catch((error) => {
      this.#hearsAll = undefined
      throw error
    })
    return this.#hearsAll.then(() => {})
  }

  /** Tells what has come; where nothing has, it is only noted that somebody looked. */
  async collect(rows: readonly MailRow[]): Promise<void> {
    const startedMs = performance.now()
    this.take(rows)
    // Not at once: whoever was told something has better things to do now.
    if (this.#toDelete.size >= DELETED_TOGETHER || rows.length === 0) await this.#deleteRead()
    // Others strike off a process that was silent for long: then it has missed something.
    const isTime = this.#hearsAll !== undefined && startedMs - this.#enteredAtMs > ENTER_MS
    const wasStruckOff = isTime && !(await this.#enter())
    if (wasStruckOff || startedMs - this.#collectedAtMs > GAP_MS) this.#missed()
    this.#collectedAtMs = startedMs
  }

  /** The mail that has come and was not read, as a condition and its values. */
  get unread() {
    return { where: 'process = ? AND id NOT IN (?)', values: [this.process, [NOBODYS, ...this.#toDelete]] }
  }

  addUnread(packet: Packet): Packet {
    const { where, values } = this.unread
    return packet.add(`SELECT id, body FROM baton_mail WHERE ${where} ORDER BY id LIMIT 1000`, ...values)
  }

  async read(): Promise<readonly MailRow[]> {
    return (await this.#connections.query(this.addUnread(new Packet())))[0]
  }

  /** Reads what is there for a step that has its lock. */
  async takeAlong(run: Run): Promise<void> {
    this.take((await run(this.addUnread(new Packet())))[0])
  }

  /** Tells what was read, whoever read it. */
  take(rows: readonly MailRow[]): void {
    for (const { id, body } of rows) {
      this.#toDelete.add(id)
      if (this.#read.has(id)) continue
      this.#read.add(id)
      if (this.#read.size > REMEMBERED) this.#read.delete(this.#read.values().next().value!)
      this.#deliver(JSON.parse(body))
    }
  }

  /** The other processes that these events concern. */
  async concerned(
    run: Run,
    events: readonly Event[],
    { hearers, loaded }: { readonly hearers: readonly string[]; readonly loaded: Loaded },
  ): Promise<readonly string[]> {
    if (events.length === 0) return []
    const { processes } = loaded.waiters
    const foreign = this.elsewhere(events)
    const known = foreign.flatMap((session) => processes.get(session) ?? [])
    const elsewhere = foreign.filter((session) => !processes.has(session))
    if (elsewhere.length === 0) return [...new Set([...hearers, ...known])]
    const statement = 'SELECT DISTINCT process FROM baton_sessions WHERE session IN (?) AND process <> ?'
    const [rows] = await run(new Packet().add(statement, elsewhere, this.process))
    return [...new Set([...hearers, ...known, ...rows.map(({ process }: { process: string }) => process)])]
  }

  /** The sessions that these events concern and that are not of this process. */
  elsewhere(events: readonly Event[]): string[] {
    return [...new Set(events.flatMap(sessionsOf))].filter((session) => !this.sessions.has(session))
  }

  async #deleteRead(): Promise<void> {
    const ids = [...this.#toDelete]
    if (ids.length === 0) return
    const remove = 'DELETE FROM baton_mail WHERE process = ? AND id IN (?)'
    await this.#connections.query(new Packet().add(remove, this.process, ids))
    for (const id of ids) this.#toDelete.delete(id)
  }

  async close(): Promise<void> {
    if (this.#hearsAll) await strikeOffHearer(this.#connections, this.#clock, this.process).catch(() => {})
    const clear = new Packet().add('DELETE FROM baton_mail WHERE process = ?', this.process)
    await this.#connections.query(clear).catch(() => {})
  }

  async #enter(): Promise<boolean> {
    const startedMs = performance.now()
    const wasThere = await enterHearer(this.#connections, this.#clock, this.process)
    this.#enteredAtMs = startedMs
    return wasThere
  }
}

/** The letter's events as a store carries them, numbered here. */
export function eventsOf({ events, namespace, resource, atMs }: Letter, nextSeq: () => number): StoreEvent[] {
  return events.map((event) => ({ ...event, namespace, resource, atMs, seq: nextSeq() }))
}

function sessionsOf(event: Event): readonly string[] {
  switch (event.type) {
    case 'queued':
    case 'granted':
    case 'claimed':
    case 'left':
    case 'hold-ended':
      return event.asker.session === undefined ? [] : [event.asker.session]
    case 'told':
      return event.askers.flatMap(({ session }) => session ?? [])
    case 'ended':
      return event.sessions
    case 'progress':
    case 'referenced':
    case 'dereferenced':
      return []
  }
}
