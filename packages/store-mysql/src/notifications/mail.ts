import type { Receiver } from '@baton-lock/store/remote'
import type { Timing } from '@baton-lock/store/timing'
import type { DatabaseClock } from '../connection/clock.ts'
import type { Connections } from '../connection/connections.ts'
import { Packet, type Results } from '../connection/packet.ts'
import { enterHearer, strikeOffHearer } from './hearers.ts'

type Send = (packet: Packet) => Promise<Results>

interface MailRow {
  readonly id: number
  readonly body: string
}

const LIMIT = 1_000
/** Reads what has come after some that is known already. */
export const READ_MAIL = `SELECT id, body FROM baton_mail WHERE process = ? AND id > ? ORDER BY id LIMIT ${LIMIT}`
/** Mail is kept for as long; who has not read it for nearly as long may have missed some. */
export const MAIL_MS = 60_000
const GAP_MS = 45_000
/** One who hears all says so again as often; it is struck off after three times as long. */
const ENTER_MS = 25_000
const REMEMBERED = 20_000

/**
 * How letters reach other processes: as rows that are written in the transaction that they tell of, and deleted by their
 * reader. Whoever locks a resource reads the mail that is there then, so that it has heard of all earlier changes.
 */
export class Mailbox {
  readonly process: string
  readonly #connections: Connections
  readonly #clock: DatabaseClock
  readonly #timing: Timing
  /** Read already. Their rows may still be there, or be seen once more by one who read at the same time. */
  readonly #read = new Set<number>()
  readonly #toDelete = new Set<number>()
  /** Who is told. */
  receiver: Receiver | undefined
  #readAtMs: number
  #hearsAll: Promise<unknown> | undefined
  #enteredAtMs = 0

  constructor(connections: Connections, clock: DatabaseClock) {
    this.#connections = connections
    this.#clock = clock
    this.#timing = connections.timing
    this.process = this.#timing.uniqueName()
    this.#readAtMs = this.#timing.monoMs()
  }

  /** From when it resolves, every letter of every process comes here. */
  hearAll(): Promise<void> {
    this.#hearsAll ??= this.#enter().catch((error) => {
      this.#hearsAll = undefined
      throw error
    })
    return this.#hearsAll.then(() => {})
  }

  /** It is noted that somebody looked. Who has not done so for long may have missed something. */
  async noteRead(): Promise<void> {
    const nowMs = this.#timing.monoMs()
    // Others strike off a process that was silent for long.
    const isTime = this.#hearsAll !== undefined && nowMs - this.#enteredAtMs > ENTER_MS
    const wasStruckOff = isTime && !(await this.#enter())
    if (wasStruckOff || nowMs - this.#readAtMs > GAP_MS) this.receiver?.missed()
    this.#readAtMs = nowMs
  }

  /** Reads all that is there, and tells it. */
  async readAll(run: Send): Promise<void> {
    const [rows] = await run(new Packet().add(READ_MAIL, this.process, 0))
    await this.receiveAll(run, rows)
  }

  /** Tells what was read, and reads on where that was not all. */
  async receiveAll(run: Send, rows: readonly MailRow[]): Promise<void> {
    this.#receive(rows)
    for (let last = rows; last.length === LIMIT; this.#receive(last)) {
      last = (await run(new Packet().add(READ_MAIL, this.process, last.at(-1)!.id)))[0]
    }
  }

  /** Deletes what was read. */
  async clear(run: Send): Promise<void> {
    const ids = [...this.#toDelete]
    if (ids.length === 0) return
    await run(new Packet().add('DELETE FROM baton_mail WHERE process = ? AND id IN (?)', this.process, ids))
    for (const id of ids) this.#toDelete.delete(id)
  }

  async close(): Promise<void> {
    if (this.#hearsAll) await strikeOffHearer(this.#connections, this.#clock, this.process).catch(() => {})
    const clear = new Packet().add('DELETE FROM baton_mail WHERE process = ?', this.process)
    await this.#connections.query(clear).catch(() => {})
  }

  /** Each letter once, whoever read it. */
  #receive(rows: readonly MailRow[]): void {
    for (const { id, body } of rows) {
      this.#toDelete.add(id)
      if (this.#read.has(id)) continue
      this.#read.add(id)
      if (this.#read.size > REMEMBERED) this.#read.delete(this.#read.values().next().value!)
      this.receiver?.receive(body)
    }
  }

  async #enter(): Promise<boolean> {
    const startedMs = this.#timing.monoMs()
    const wasThere = await enterHearer(this.#connections, this.#clock, this.process)
    this.#enteredAtMs = startedMs
    return wasThere
  }
}
