import { randomBytes } from 'node:crypto'
import { concernsOf, type Event } from '../../core/index.ts'
import type { Address, StoreEvent } from '../store.ts'
import type { DatabaseClock } from './clock.ts'
import type { Connections } from './connections.ts'
import { enterHearer, strikeOffHearer } from './hearers.ts'
import { Packet, type Results, type Run } from './packet.ts'
import type { Loaded } from './resource-row.ts'

/** What one transaction has done to one resource, as it is told to other processes. */
export interface Letter extends Address {
  readonly atMs: number
  readonly dueAtMs: number | undefined
  readonly events: readonly Event[]
}

type Send = (packet: Packet) => Promise<Results>

interface MailRow {
  readonly id: number
  readonly body: string
}

/** Reads what has come. */
export const READ_MAIL = 'SELECT id, body FROM baton_mail WHERE process = ? ORDER BY id LIMIT 1000'
/** Mail is kept for as long; who has not read it for nearly as long may have missed some. */
export const MAIL_MS = 60_000
const GAP_MS = 45_000
/** One who hears all says so again as often; it is struck off after three times as long. */
const ENTER_MS = 25_000
const REMEMBERED = 20_000

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
  #lookedAtMs = performance.now()
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

  /** It is noted that somebody looked. Who has not done so for long may have missed something. */
  async hasLooked(): Promise<void> {
    const nowMs = performance.now()
    // Others strike off a process that was silent for long.
    const isTime = this.#hearsAll !== undefined && nowMs - this.#enteredAtMs > ENTER_MS
    const wasStruckOff = isTime && !(await this.#enter())
    if (wasStruckOff || nowMs - this.#lookedAtMs > GAP_MS) this.#missed()
    this.#lookedAtMs = nowMs
  }

  async read(run: Send): Promise<readonly MailRow[]> {
    return (await run(new Packet().add(READ_MAIL, this.process)))[0]
  }

  /** Deletes what was read. */
  async clear(run: Send): Promise<void> {
    const ids = [...this.#toDelete]
    if (ids.length === 0) return
    await run(new Packet().add('DELETE FROM baton_mail WHERE process = ? AND id IN (?)', this.process, ids))
    for (const id of ids) this.#toDelete.delete(id)
  }

  /** Reads what is there for a step that has its lock. */
  async takeAlong(run: Run): Promise<void> {
    this.take(await this.read(run))
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
    return [...new Set(events.flatMap(concernsOf).flatMap(({ sessions }) => sessions))].filter(
      (session) => !this.sessions.has(session),
    )
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
