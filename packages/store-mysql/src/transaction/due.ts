import type { Due } from '@baton-lock/store/remote'
import type { DatabaseClock } from '../connection/clock.ts'
import type { Connections } from '../connection/connections.ts'
import { Packet } from '../connection/packet.ts'
import { MAIL_MS } from '../notifications/mail.ts'

/** One statement: every process asks this, also when nothing happens. */
export async function readDue(connections: Connections, clock: DatabaseClock, limit: number): Promise<Due> {
  const now = clock.sql
  const statement = `SELECT 'now' AS kind, ${now} AS number, NULL AS first, NULL AS second
    UNION ALL (SELECT 'resource', due_at_ms, namespace, resource FROM baton_resources
      WHERE due_at_ms <= ${now} ORDER BY due_at_ms LIMIT ?)
    UNION ALL (SELECT 'session', expires_at_ms, session, NULL FROM baton_sessions
      WHERE expires_at_ms <= ${now} ORDER BY expires_at_ms LIMIT ?)
    UNION ALL SELECT 'next', MIN(due_at_ms), NULL, NULL FROM baton_resources WHERE due_at_ms > ${now}
    UNION ALL SELECT 'next', MIN(expires_at_ms), NULL, NULL FROM baton_sessions WHERE expires_at_ms > ${now}
    UNION ALL SELECT 'waiting', COUNT(*), NULL, NULL FROM baton_waiters`
  const [rows] = await connections.query(new Packet().add(statement, limit, limit))
  // Of a UNION, numbers come as text.
  const read = (rows as DueRow[]).map((row) => ({ ...row, number: row.number === null ? null : Number(row.number) }))
  const of = (kind: string) => read.filter((row) => row.kind === kind)
  const nowMs = of('now')[0]!.number!
  clock.heard(nowMs)
  const resources = of('resource').map(({ first, second }) => ({ namespace: first!, resource: second! }))
  const sessions = of('session').map(({ first }) => first!)
  const isMore = resources.length === limit || sessions.length === limit
  const nextMs = Math.min(...of('next').map(({ number }) => number ?? Infinity), isMore ? nowMs : Infinity)
  return {
    resources,
    sessions,
    nextMs: nextMs === Infinity ? undefined : nextMs,
    waiting: of('waiting')[0]!.number ?? 0,
  }
}

interface DueRow {
  readonly kind: string
  readonly number: number | string | null
  readonly first: string | null
  readonly second: string | null
}

const ROWS = 1_000

/** Clears away what nobody can ask for any more. */
export async function clearAway(connections: Connections, clock: DatabaseClock): Promise<void> {
  const now = clock.sql
  const statements = [
    `DELETE FROM baton_remembered WHERE until_ms <= ${now} LIMIT ${ROWS}`,
    `DELETE FROM baton_mail WHERE at_ms <= ${now} - ${MAIL_MS} LIMIT ${ROWS}`,
  ]
  for (const statement of statements) {
    for (let rows = ROWS; rows === ROWS; ) {
      const [{ affectedRows }] = await connections.query(new Packet().add(statement))
      rows = affectedRows
    }
  }
}
