import type { Command } from '../../core/index.ts'
import { type Place, SESSION_LOST, type SessionReply, type SessionRequest } from '../store.ts'
import type { DatabaseClock } from './clock.ts'
import type { Connections } from './connections.ts'
import { isDuplicate } from './failures.ts'
import type { Mailbox } from './mailbox.ts'
import { Packet } from './packet.ts'

/** Sessions as rows. One is alive until its time is over by the database's clock, or until it is marked as ended. */
export class Sessions {
  readonly #connections: Connections
  readonly #clock: DatabaseClock
  readonly #mailbox: Mailbox
  readonly #step: (place: Place, command: Command) => Promise<unknown>

  constructor(
    connections: Connections,
    {
      clock,
      mailbox,
      step,
    }: { clock: DatabaseClock; mailbox: Mailbox; step: (place: Place, command: Command) => Promise<unknown> },
  ) {
    this.#connections = connections
    this.#clock = clock
    this.#mailbox = mailbox
    this.#step = step
  }

  async open({ session, node, ttlMs }: SessionRequest): Promise<SessionReply> {
    for (;;) {
      const reply = await this.renew(session)
      if (reply.status === 'alive') return reply
      // It may be there still, though its time is over: what hangs off it belongs to its earlier life.
      await this.end(session, 'lost')
      const insert = `INSERT INTO baton_sessions (session, node, ttl_ms, expires_at_ms, process)
        VALUES (?, ?, ?, ${this.#clock.sql} + ?, ?)`
      try {
        await this.#connections.query(new Packet().add(insert, session, node, ttlMs, ttlMs, this.#mailbox.process))
      } catch (error) {
        if (isDuplicate(error)) continue
        throw error
      }
      this.#mailbox.sessions.set(session, ttlMs)
      return { status: 'alive', ttlMs, places: 0 }
    }
  }

  async renew(session: string): Promise<SessionReply> {
    const now = this.#clock.sql
    // One statement: everybody who waits does this all the time. LAST_INSERT_ID brings the count back with it.
    const renew = `UPDATE baton_sessions SET process = ?, expires_at_ms = ${now} + ttl_ms + 0 *
        LAST_INSERT_ID((SELECT COUNT(*) FROM baton_places p WHERE p.session = baton_sessions.session))
      WHERE session = ? AND ended IS NULL AND expires_at_ms > ${now}`
    const packet = new Packet().add(renew, this.#mailbox.process, session)
    const [{ affectedRows, insertId }] = await this.#connections.query(packet)
    const ttlMs = affectedRows > 0 ? (this.#mailbox.sessions.get(session) ?? (await this.#ttlOf(session))) : undefined
    if (ttlMs === undefined) {
      this.#mailbox.sessions.delete(session)
      return SESSION_LOST
    }
    this.#mailbox.sessions.set(session, ttlMs)
    return { status: 'alive', ttlMs, places: insertId }
  }

  async places(session: string): Promise<readonly Place[] | undefined> {
    const alive = `SELECT 1 FROM baton_sessions WHERE session = ? AND ended IS NULL AND expires_at_ms > ${this.#clock.sql}`
    const [rows, places] = await this.#connections.query(new Packet().add(alive, session).add(PLACES, session))
    return rows.length > 0 ? places.map(placeOf) : undefined
  }

  async #ttlOf(session: string): Promise<number | undefined> {
    const [[row]] = await this.#connections.query(
      new Packet().add('SELECT ttl_ms FROM baton_sessions WHERE session = ?', session),
    )
    return row?.ttl_ms
  }

  /** Marks the session as ended, then takes its places away one by one. Who dies in the middle is followed by another. */
  async end(session: string, how: 'left' | 'lost'): Promise<void> {
    const isOver = how === 'lost' ? `AND expires_at_ms <= ${this.#clock.sql}` : `AND expires_at_ms > ${this.#clock.sql}`
    const mark = `UPDATE baton_sessions SET ended = ?, expires_at_ms = 0 WHERE session = ? AND ended IS NULL ${isOver}`
    const read = 'SELECT ended FROM baton_sessions WHERE session = ? AND ended IS NOT NULL'
    const packet = new Packet().add(mark, how, session).add(read, session).add(PLACES, session)
    const [, [row], places] = await this.#connections.query(packet)
    if (!row) return
    this.#mailbox.sessions.delete(session)
    const type = row.ended === 'left' ? 'leave' : 'session-lost'
    for (const place of places.map(placeOf)) {
      const { operation, node, owner } = place
      await this.#step(place, { type, session, operation, node, owner })
    }
    const remove = `DELETE FROM baton_sessions WHERE session = ? AND ended IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM baton_places p WHERE p.session = ?)`
    await this.#connections.query(new Packet().add(remove, session, session))
  }
}

const PLACES = `SELECT namespace, resource, operation, node, owner FROM baton_places WHERE session = ?
  ORDER BY namespace, resource, operation, owner, node`

/** A row of version 1 has no node. */
function placeOf({ node, ...place }: Place): Place {
  return node === '' ? place : { ...place, node }
}
