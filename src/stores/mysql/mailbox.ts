import { randomBytes } from 'node:crypto'
import type { Event } from '../../core/index.ts'
import type { Address, StoreEvent } from '../store.ts'
import type { DatabaseClock } from './clock.ts'
import { type Connections, Packet, type Run } from './connections.ts'

/** What one transaction has done to one resource, as it is told to other processes. */
export interface Letter extends Address {
  readonly atMs: number
  readonly dueAtMs: number | undefined
  readonly events: readonly Event[]
}

interface MailRow {
  readonly id: number
  readonly body: string
}

const HEARS_MS = 60_000
/** Mail is kept for as long; who has not read it for nearly as long may have missed some. */
export const MAIL_MS = 60_000
const GAP_MS = 45_000
const REMEMBERED = 20_000

/**
 * How events reach the processes that they concern: as rows that are written in the transaction of the step, and
 * deleted by their reader. A step takes the mail along that is there when it has its lock, so nobody hears of a
 * resource's steps in another order than they were taken in.
 */
export class Mailbox {
  readonly process = randomBytes(9).toString('hex')
  /** Reads what has come. */
  readonly select = 'SELECT id, body FROM baton_mail WHERE process = ? ORDER BY id LIMIT 1000'
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
  #hearsAll: Promise<void> | undefined

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
    this.#hearsAll ??= this.#register().catch((error) => {
      this.#hearsAll = undefined
      throw error
    })
    return this.#hearsAll
  }

  /** Reads what has come, and clears it away; where nothing has, it is only noted that somebody looked. */
  async collect({ hasMail }: { readonly hasMail: boolean }): Promise<void> {
    const startedMs = performance.now()
    if (this.#hearsAll) await this.#stayRegistered()
    while (hasMail || this.#toDelete.size > 0) {
      const [rows] = await this.#connections.query(new Packet().add(this.select, this.process))
      this.take(rows)
      if (this.#toDelete.size === 0) break
      const ids = [...this.#toDelete]
      await this.#connections.query(
        new Packet().add('DELETE FROM baton_mail WHERE process = ? AND id IN (?)', this.process, ids),
      )
      for (const id of ids) this.#toDelete.delete(id)
    }
    if (startedMs - this.#collectedAtMs > GAP_MS) this.#missed()
    this.#collectedAtMs = startedMs
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
  async concerned(run: Run, events: readonly Event[], hearers: readonly string[]): Promise<readonly string[]> {
    if (events.length === 0) return []
    const elsewhere = [...new Set(events.flatMap(sessionsOf))].filter((session) => !this.sessions.has(session))
    if (elsewhere.length === 0) return hearers
    const statement = 'SELECT DISTINCT process FROM baton_sessions WHERE session IN (?) AND process <> ?'
    const [rows] = await run(new Packet().add(statement, elsewhere, this.process))
    return [...new Set([...hearers, ...rows.map(({ process }: { process: string }) => process)])]
  }

  async close(): Promise<void> {
    const packet = new Packet()
      .add('DELETE FROM baton_processes WHERE process = ?', this.process)
      .add('DELETE FROM baton_mail WHERE process = ?', this.process)
    await this.#connections.query(packet).catch(() => {})
  }

  async #register(): Promise<void> {
    const statement = `INSERT INTO baton_processes (process, expires_at_ms) VALUES (?, ${this.#clock.sql} + ?)
      ON DUPLICATE KEY UPDATE expires_at_ms = VALUES(expires_at_ms)`
    await this.#connections.query(new Packet().add(statement, this.process, HEARS_MS))
  }

  /** Others strike off a process that was silent for long: then it has missed something. */
  async #stayRegistered(): Promise<void> {
    const statement = `UPDATE baton_processes SET expires_at_ms = ${this.#clock.sql} + ? WHERE process = ?`
    const [{ affectedRows }] = await this.#connections.query(new Packet().add(statement, HEARS_MS, this.process))
    if (affectedRows > 0) return
    await this.#register()
    this.#missed()
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
