import type { AskName } from '@baton-lock/core'
import { nameOf } from '@baton-lock/store/address'
import type { MemoryKind, Part, StoredMemory, StoredWaiter, Wanted } from '@baton-lock/store/remote'
import type { Address } from '@baton-lock/store/store'
import { Packet, type Run } from '../connection/packet.ts'

const ALL = 1_000_000_000

type WaitersWanted = Exclude<Wanted, { readonly what: 'positions' | 'memories' }>

/** Reads a part of a resource that is locked: all of it is of one moment. */
export async function readPart(run: Run, address: Address, wanted: Wanted): Promise<Part> {
  switch (wanted.what) {
    case 'memories':
      return {
        memories: memoriesOf((await run(addMemories(new Packet(), [{ address, asks: wanted.asks }])))[0], address),
      }
    case 'positions': {
      const { namespace, resource } = address
      const statement = `SELECT w.ticket, (SELECT COUNT(*) FROM baton_waiters b WHERE b.namespace = w.namespace
          AND b.resource = w.resource AND b.operation = w.operation AND b.ticket < w.ticket) AS before_it
        FROM baton_waiters w WHERE w.namespace = ? AND w.resource = ? AND w.operation = ? AND w.ticket IN (?)`
      const packet = new Packet().add(statement, namespace, resource, wanted.operation, wanted.tickets)
      const [rows] = await run(packet)
      return { before: rows.map((row: { ticket: number; before_it: number }) => [row.ticket, row.before_it]) }
    }
    case 'due': {
      const { namespace, resource } = address
      const next = `SELECT MIN(due_at_ms) AS next FROM baton_waiters
        WHERE namespace = ? AND resource = ? AND due_at_ms > ?`
      const packet = addWaiters(new Packet(), address, wanted).add(next, namespace, resource, wanted.nowMs)
      const [rows, [row]] = await run(packet)
      return { waiters: waitersOf(rows), nextDueMs: row.next ?? undefined }
    }
    default:
      return { waiters: waitersOf((await run(addWaiters(new Packet(), address, wanted)))[0]) }
  }
}

/** Asks for waiters. */
export function addWaiters(packet: Packet, { namespace, resource }: Address, wanted: WaitersWanted): Packet {
  const { where, values } = conditionOf(wanted)
  const statement = `SELECT w.body, s.process FROM baton_waiters w LEFT JOIN baton_sessions s ON s.session = w.session
    WHERE w.namespace = ? AND w.resource = ? AND ${where}`
  return packet.add(statement, namespace, resource, ...values)
}

function conditionOf(wanted: WaitersWanted): { readonly where: string; readonly values: readonly unknown[] } {
  switch (wanted.what) {
    case 'first':
      return { where: 'w.operation = ? ORDER BY w.ticket LIMIT ?', values: [wanted.operation, wanted.count] }
    case 'oldest':
      return { where: 'w.ticket > ? ORDER BY w.ticket LIMIT ?', values: [wanted.after, Math.min(wanted.count, ALL)] }
    case 'owners': {
      const any = wanted.owners.map(() => '(w.operation = ? AND w.owner = ?)').join(' OR ')
      return {
        where: `(${any}) ORDER BY w.ticket`,
        values: wanted.owners.flatMap(({ operation, owner }) => [operation, owner]),
      }
    }
    case 'revision':
      return {
        where: 'w.operation = ? AND w.revision <=> ? ORDER BY w.ticket',
        values: [wanted.operation, wanted.revision ?? null],
      }
    case 'due':
      return { where: 'w.due_at_ms <= ? ORDER BY w.due_at_ms, w.ticket', values: [wanted.nowMs] }
  }
}

export interface WaiterRow {
  readonly body: string
  readonly process: string | null
}

export function waitersOf(rows: readonly WaiterRow[]): StoredWaiter[] {
  return rows.map(({ body, process }) => ({ waiter: JSON.parse(body), process: process ?? undefined }))
}

/** Asks for what is remembered of these asks. */
export function addMemories(
  packet: Packet,
  wanted: readonly { readonly address: Address; readonly asks: readonly AskName[] }[],
): Packet {
  const values = wanted.flatMap(({ address: { namespace, resource }, asks }) =>
    asks.map(({ operation, owner, hold }) => [namespace, resource, operation, owner, hold]),
  )
  const one = '(namespace = ? AND resource = ? AND operation = ? AND owner = ? AND hold = ?)'
  const statement = `SELECT namespace, resource, kind, operation, owner, hold, body FROM baton_remembered
    WHERE ${values.map(() => one).join(' OR ')}`
  return packet.add(statement, ...values.flat())
}

export interface MemoryRow extends Address, AskName {
  readonly kind: MemoryKind
  readonly body: string
}

/** Those of one resource among them. */
export function memoriesOf(rows: readonly MemoryRow[], address: Address): StoredMemory[] {
  const name = nameOf(address)
  return rows.filter((row) => nameOf(row) === name).map(({ body, ...row }) => ({ ...row, value: JSON.parse(body) }))
}
