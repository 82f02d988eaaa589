import { askName, type Command, type EndedAsk, type KeptAnswer, SHARED_HOLD } from '../../core/index.ts'
import type { Address } from '../store.ts'
import type { Wanted } from './loaded.ts'
import { Packet, type Run } from './packet.ts'
import type { Loaded } from './resource-row.ts'
import { type LoadedWaiters, nameOf } from './waiters-in-rows.ts'

const ALL = 1_000_000_000

/** The first of a queue. */
export const FIRST_WAITERS = `SELECT body FROM baton_waiters
  WHERE namespace = ? AND resource = ? AND operation = ? ORDER BY ticket LIMIT ?`

export function takeFirst(
  waiters: LoadedWaiters,
  { operation, count, rows }: { operation: string; count: number; rows: readonly { readonly body: string }[] },
): void {
  waiters.first.set(operation, { tickets: waiters.put(rows), whole: rows.length < count })
}

export interface Loading extends Address {
  readonly nowMs: number
  readonly wanted: Wanted
  /** All that will be run: what one of them wants the others will want too. */
  readonly commands: readonly Command[]
}

/** Reads what a step wanted and did not have. Its resource is locked, so all of it is of one moment. */
export async function load(run: Run, loaded: Loaded, loading: Loading): Promise<void> {
  const { namespace, resource, nowMs, wanted, commands } = loading
  const { waiters } = loaded
  const read = async (where: string, ...values: unknown[]) => {
    const statement = `SELECT body FROM baton_waiters WHERE namespace = ? AND resource = ? AND ${where}`
    const [rows] = await run(new Packet().add(statement, namespace, resource, ...values))
    return waiters.put(rows)
  }
  switch (wanted.what) {
    case 'first': {
      const { operation, count } = wanted
      const [rows] = await run(new Packet().add(FIRST_WAITERS, namespace, resource, operation, count))
      takeFirst(waiters, { operation, count, rows })
      return
    }
    case 'oldest': {
      const { count, after } = wanted
      await read('ticket > ? ORDER BY ticket LIMIT ?', after, Math.min(count, ALL))
      waiters.oldest = { count, after }
      return
    }
    case 'owner': {
      const owners = [wanted, ...commands.filter((command) => 'owner' in command)]
      const any = owners.map(() => '(operation = ? AND owner = ?)').join(' OR ')
      await read(`(${any})`, ...owners.flatMap(({ operation, owner }) => [operation, owner]))
      for (const { operation, owner } of owners) waiters.owners.add(nameOf(operation, owner))
      return
    }
    case 'revision':
      await read('operation = ? AND revision <=> ?', wanted.operation, wanted.revision ?? null)
      waiters.revisions.add(nameOf(wanted.operation, wanted.revision))
      return
    case 'position': {
      const { operation } = wanted
      const all = [...waiters.byTicket.values()].filter((waiter) => waiter.operation === operation)
      const tickets = all.map(({ ticket }) => ticket).filter((ticket) => !waiters.before.has(ticket))
      const statement = `SELECT w.ticket, (SELECT COUNT(*) FROM baton_waiters b WHERE b.namespace = w.namespace
          AND b.resource = w.resource AND b.operation = w.operation AND b.ticket < w.ticket) AS before_it
        FROM baton_waiters w WHERE w.namespace = ? AND w.resource = ? AND w.operation = ? AND w.ticket IN (?)`
      const [rows] = await run(new Packet().add(statement, namespace, resource, operation, tickets))
      for (const row of rows) waiters.before.set(row.ticket, row.before_it)
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
    case 'remembered': {
      const names = [...new Set([wanted.name, ...namesOf(commands)])]
      takeMemories(loaded, names, (await run(addMemories(new Packet(), [{ namespace, resource, names }])))[0])
    }
  }
}

/** The names of the asks that commands speak of. */
export function namesOf(commands: readonly Command[]): string[] {
  const names = commands.flatMap((command) => {
    if (command.type === 'heard') return command.askers.map((asker) => askName({ ...asker, hold: SHARED_HOLD }))
    if (command.type !== 'acquire' && command.type !== 'release' && command.type !== 'cancel') return []
    return askName(command)
  })
  return [...new Set(names)]
}

/** Asks for what is remembered under these names. */
export function addMemories(
  packet: Packet,
  wanted: readonly (Address & { readonly names: readonly string[] })[],
): Packet {
  const asks = wanted.flatMap(({ namespace, resource, names }) =>
    names.map((name) => [namespace, resource, ...(JSON.parse(name) as string[])]),
  )
  const one = '(namespace = ? AND resource = ? AND operation = ? AND owner = ? AND hold = ?)'
  const statement = `SELECT namespace, resource, kind, operation, owner, hold, body FROM baton_remembered
    WHERE ${asks.map(() => one).join(' OR ')}`
  return packet.add(statement, ...asks.flat())
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
    loaded.answers.set(name, [])
    loaded.released.set(name, [])
  }
  for (const { kind, operation, owner, hold, body } of rows) {
    const name = askName({ operation, owner, hold })
    if (kind === 'answer') loaded.answers.get(name)!.push(JSON.parse(body) as KeptAnswer)
    else loaded.released.get(name)!.push(JSON.parse(body) as EndedAsk)
  }
  for (const byName of [loaded.answers, loaded.released])
    for (const memories of byName.values()) memories.sort((a, b) => a.untilMs - b.untilMs)
}
