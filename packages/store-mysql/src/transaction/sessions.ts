import type { SessionLease } from '@baton-lock/core'
import type { EndedSession, RenewedSession } from '@baton-lock/store/remote'
import type { Place, SessionRequest } from '@baton-lock/store/store'
import type { DatabaseClock } from '../connection/clock.ts'
import type { Connections } from '../connection/connections.ts'
import { isDuplicate } from '../connection/failures.ts'
import { Packet } from '../connection/packet.ts'

export interface Here {
  readonly connections: Connections
  readonly clock: DatabaseClock
  readonly process: string
}

export async function insertSession({ connections, clock, process }: Here, request: SessionRequest): Promise<boolean> {
  const { session, node, ttlMs } = request
  const insert = `INSERT INTO baton_sessions (session, node, ttl_ms, expires_at_ms, process)
    VALUES (?, ?, ?, ${clock.sql} + ?, ?)`
  try {
    await connections.query(new Packet().add(insert, session, node, ttlMs, ttlMs, process))
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

export async function renewSession(here: Here, session: string, farewell: string): Promise<RenewedSession | undefined> {
  const { connections, clock, process } = here
  // One statement: everybody who waits does this all the time. LAST_INSERT_ID brings the count and the ttl back with it.
  const both = `${PLACES_OF_IT} * ${TTL_UNIT} + ttl_ms`
  const renew = `UPDATE baton_sessions SET expires_at_ms = ${clock.sql} + ttl_ms + 0 * LAST_INSERT_ID(${both})
    WHERE session = ? AND process = ? AND ended IS NULL AND expires_at_ms > ${clock.sql}`
  const [{ affectedRows, insertId }] = await connections.query(new Packet().add(renew, session, process))
  if (affectedRows > 0) return { ttlMs: insertId % TTL_UNIT, places: Math.floor(insertId / TTL_UNIT) }
  return takeOver(here, session, farewell)
}

/** More than any ttl has milliseconds. */
const TTL_UNIT = 1_000_000_000

/** It is alive at another process, or not at all. */
async function takeOver(
  { connections, clock, process }: Here,
  session: string,
  farewell: string,
): Promise<RenewedSession | undefined> {
  return connections.transaction(async (run) => {
    const read = `SELECT ttl_ms, process, ${clock.sql} AS now_ms, ${PLACES_OF_IT} AS places FROM baton_sessions
      WHERE session = ? AND ended IS NULL AND expires_at_ms > ${clock.sql} FOR UPDATE`
    const [, [row]] = await run(new Packet().add('START TRANSACTION').add(read, session))
    const packet = new Packet()
    if (row) {
      const renew = 'UPDATE baton_sessions SET process = ?, expires_at_ms = ? WHERE session = ?'
      packet.add(renew, process, row.now_ms + row.ttl_ms, session)
      const send = 'INSERT INTO baton_mail (process, at_ms, body) VALUES (?, ?, ?)'
      if (row.process !== process) packet.add(send, row.process, row.now_ms, farewell)
    }
    await run(packet.add('COMMIT'))
    return row && { ttlMs: row.ttl_ms, places: row.places }
  })
}

export async function leasesOf(
  { connections, clock }: Here,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, SessionLease>> {
  const leases = new Map<string, SessionLease>()
  for (let from = 0; from < sessions.length; from += SESSIONS_TOGETHER) {
    const some = sessions.slice(from, from + SESSIONS_TOGETHER)
    const read = `SELECT session, ttl_ms, expires_at_ms FROM baton_sessions
      WHERE session IN (${some.map(() => '?').join(', ')}) AND ended IS NULL AND expires_at_ms > ${clock.sql}`
    const [rows] = await connections.query(new Packet().add(read, ...some))
    for (const row of rows) leases.set(row.session, { expiresAtMs: Number(row.expires_at_ms), ttlMs: row.ttl_ms })
  }
  return leases
}

/** In one statement. */
const SESSIONS_TOGETHER = 500

export async function placesOf(
  { connections, clock }: Here,
  session: string,
  limit?: number,
): Promise<readonly Place[] | undefined> {
  const alive = `SELECT 1 FROM baton_sessions WHERE session = ? AND ended IS NULL AND expires_at_ms > ${clock.sql}`
  const packet = new Packet().add(alive, session)
  if (limit === undefined) packet.add(PLACES, session)
  else packet.add(`${PLACES} LIMIT ?`, session, limit)
  const [rows, places] = await connections.query(packet)
  return rows.length > 0 ? places : undefined
}

export async function endSession(
  { connections, clock }: Here,
  session: string,
  how: 'left' | 'lost',
): Promise<EndedSession | undefined> {
  const isMeant = how === 'lost' ? `expires_at_ms <= ${clock.sql}` : `expires_at_ms > ${clock.sql}`
  const mark = `UPDATE baton_sessions SET ended = ?, expires_at_ms = 0
    WHERE session = ? AND ended IS NULL AND ${isMeant}`
  const read = 'SELECT ended FROM baton_sessions WHERE session = ? AND ended IS NOT NULL'
  const packet = new Packet().add(mark, how, session).add(read, session).add(PLACES, session)
  const [, [row], places] = await connections.query(packet)
  return row && { how: row.ended, places }
}

export async function removeSession({ connections }: Here, session: string): Promise<void> {
  const remove = `DELETE FROM baton_sessions WHERE session = ? AND ended IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM baton_places p WHERE p.session = ?)`
  await connections.query(new Packet().add(remove, session, session))
}

const PLACES = `SELECT namespace, resource, operation, node, owner FROM baton_places WHERE session = ?
  ORDER BY namespace, resource, operation, owner, node`
const PLACES_OF_IT = '(SELECT COUNT(*) FROM baton_places p WHERE p.session = baton_sessions.session)'
