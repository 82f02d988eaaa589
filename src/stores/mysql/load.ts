import type { EndedHold, KeptAnswer, Waiter } from '../../core/index.ts'
import type { Address } from '../store.ts'
import { Packet, type Run } from './connections.ts'
import type { Wanted } from './loaded.ts'
import type { Loaded } from './resource-row.ts'
import { nameOf } from './waiters-in-rows.ts'

const ALL = 1_000_000_000

/** Reads what a step wanted and did not have. Its resource is locked, so all of it is of one moment. */
export async function load(
  run: Run,
  loaded: Loaded,
  { namespace, resource, nowMs, wanted }: Address & { nowMs: number; wanted: Wanted },
): Promise<void> {
  const { waiters } = loaded
  const read = async (where: string, ...values: unknown[]) => {
    const statement = `SELECT body FROM baton_waiters WHERE namespace = ? AND resource = ? AND ${where}`
    const [rows] = await run(new Packet().add(statement, namespace, resource, ...values))
    const found = (rows as { body: string }[]).map(({ body }): Waiter => JSON.parse(body))
    for (const waiter of found) waiters.byTicket.set(waiter.ticket, waiter)
    return found.map(({ ticket }) => ticket)
  }
  switch (wanted.what) {
    case 'first': {
      const { operation, count } = wanted
      const tickets = await read('operation = ? ORDER BY ticket LIMIT ?', operation, count)
      waiters.first.set(operation, { tickets, whole: tickets.length < count })
      return
    }
    case 'oldest': {
      const limit = Math.min(wanted.count, ALL)
      await read('1 ORDER BY ticket LIMIT ?', limit)
      waiters.oldest = wanted.count
      return
    }
    case 'owner':
      await read('operation = ? AND owner = ?', wanted.operation, wanted.owner)
      waiters.owners.add(nameOf(wanted.operation, wanted.owner))
      return
    case 'revision':
      await read('operation = ? AND revision <=> ?', wanted.operation, wanted.revision ?? null)
      waiters.revisions.add(nameOf(wanted.operation, wanted.revision))
      return
    case 'position': {
      const statement = `SELECT COUNT(*) AS count FROM baton_waiters
        WHERE namespace = ? AND resource = ? AND operation = ? AND ticket < ?`
      const [[row]] = await run(new Packet().add(statement, namespace, resource, wanted.operation, wanted.ticket))
      waiters.before.set(wanted.ticket, row.count)
      return
    }
    case 'due': {
      const tickets = await read('due_at_ms <= ? ORDER BY due_at_ms, ticket', nowMs)
      const statement = `SELECT MIN(due_at_ms) AS next FROM baton_waiters
        WHERE namespace = ? AND resource = ? AND due_at_ms > ?`
      const [[row]] = await run(new Packet().add(statement, namespace, resource, nowMs))
      waiters.due = { atMs: nowMs, tickets, nextMs: row.next ?? undefined }
      return
    }
    case 'remembered':
      takeMemories(
        loaded,
        [wanted.name],
        (await run(addMemories(new Packet(), { namespace, resource }, [wanted.name])))[0],
      )
  }
}

/** Asks for what is remembered under these names. */
export function addMemories(packet: Packet, { namespace, resource }: Address, names: readonly string[]): Packet {
  const asks = names.map((name): string[] => JSON.parse(name))
  const any = asks.map(() => '(operation = ? AND owner = ? AND hold = ?)').join(' OR ')
  const statement = `SELECT kind, operation, owner, hold, body FROM baton_remembered
    WHERE namespace = ? AND resource = ? AND (${any})`
  return packet.add(statement, namespace, resource, ...asks.flat())
}

interface MemoryRow {
  readonly kind: 'answer' | 'released'
  readonly operation: string
  readonly owner: string
  readonly hold: string
  readonly body: string
}

export function takeMemories(loaded: Loaded, names: readonly string[], rows: readonly MemoryRow[]): void {
  for (const name of names) {
    loaded.answers.set(name, undefined)
    loaded.released.set(name, undefined)
  }
  for (const { kind, operation, owner, hold, body } of rows) {
    const name = JSON.stringify([operation, owner, hold])
    if (kind === 'answer') loaded.answers.set(name, JSON.parse(body) as KeptAnswer)
    else loaded.released.set(name, JSON.parse(body) as EndedHold)
  }
}
