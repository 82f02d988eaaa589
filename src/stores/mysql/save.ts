import { createHash } from 'node:crypto'
import {
  type Event,
  isIdle,
  type PlaceChanges,
  type Refused,
  type Reply,
  type SessionPlace,
  type Waiter,
} from '../../core/index.ts'
import type { Taking } from './lock.ts'
import { Packet, type Run } from './packet.ts'
import { lastStepOf, type ResourceInRows, type ResourceRow, stateOf } from './resource-row.ts'
import { dueAtMs } from './waiters-in-rows.ts'

export interface TakenStep extends Taking {
  readonly reply: Reply | Refused
  readonly events: readonly Event[]
}

/** What the steps of one resource have come to. */
export interface Saving {
  readonly resource: ResourceInRows
  readonly row: ResourceRow
  /** The process that took the steps. */
  readonly by: string
  readonly nowMs: number
  readonly shard: number
  readonly fenceFloor: number
  readonly dueAtMs: number | undefined
  readonly places: PlaceChanges
  readonly mail: { readonly to: readonly string[]; readonly body: string } | undefined
  readonly history: readonly TakenStep[]
}

const ROWS = 500
/** A statement that names its rows one by one names so many. */
const NAMED = 50
/** Beyond this a packet is sent before the next rows are added: the server takes 16 MB at most. */
const BYTES = 1_000_000

/**
 * Writes all that steps have changed, of all resources together, but does not commit it. What is left goes into the packet
 * that commits. Every row belongs to a resource that is locked, so none is ever fought for.
 */
export async function save(run: Run, savings: readonly Saving[]): Promise<Packet> {
  const writer = new Writer(run)
  await writeResources(writer, savings)
  for (const saving of savings) await writeWaiters(writer, saving)
  await writeMemories(writer, savings)
  await writePlaces(writer, savings)
  const mail = savings.flatMap(({ mail, nowMs }) => mail?.to.map((process) => [process, nowMs, mail.body]) ?? [])
  await writer.insert('INSERT INTO baton_mail (process, at_ms, body) VALUES ?', mail)
  const steps = savings.flatMap(({ history, resource, nowMs }) =>
    history.map(({ command, facts, reply, events }) => {
      return [resource.namespace, resource.id, JSON.stringify({ nowMs, command, facts, reply, events })]
    }),
  )
  await writer.insert('INSERT INTO baton_history (namespace, resource, body) VALUES ?', steps)
  return writer.packet
}

type Values = readonly unknown[]

class Writer {
  readonly #run: Run
  packet = new Packet()
  #bytes = 0

  constructor(run: Run) {
    this.#run = run
  }

  async write(statement: string, ...values: Values): Promise<void> {
    if (this.#bytes > BYTES) {
      await this.#run(this.packet)
      this.packet = new Packet()
      this.#bytes = 0
    }
    this.packet.add(statement, ...values)
    for (const value of values) this.#bytes += sizeOf(value)
  }

  /** So many rows at a time; nothing where there are none. */
  async insert(statement: string, rows: readonly Values[]): Promise<void> {
    for (let from = 0; from < rows.length; ) {
      let to = from
      for (let bytes = 0; to < rows.length && to - from < ROWS && bytes < BYTES; to++) bytes += sizeOf(rows[to])
      await this.write(statement, rows.slice(from, to))
      from = to
    }
  }

  /** Deletes rows by the values of these columns. */
  async remove(table: string, columns: readonly string[], rows: readonly Values[]): Promise<void> {
    const one = `(${columns.map((column) => `${column} = ?`).join(' AND ')})`
    for (let from = 0; from < rows.length; from += NAMED) {
      const named = rows.slice(from, from + NAMED)
      await this.write(`DELETE FROM ${table} WHERE ${named.map(() => one).join(' OR ')}`, ...named.flat())
    }
  }
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + sizeOf(each), 0)
  return typeof value === 'string' ? value.length : 8
}

async function writeResources(writer: Writer, savings: readonly Saving[]): Promise<void> {
  const idle = savings.filter(({ resource }) => isIdle(resource))
  for (const { resource, shard, fenceFloor } of idle) {
    if (resource.fence <= fenceFloor) continue
    const raise = 'UPDATE baton_shards SET fence_floor = GREATEST(fence_floor, ?) WHERE shard = ?'
    await writer.write(raise, resource.fence, shard)
  }
  const names = idle.map(({ resource }) => [resource.namespace, resource.id])
  await writer.remove('baton_resources', ['namespace', 'resource'], names)
  const changed = savings.filter((saving) => !isIdle(saving.resource) && hasChanged(saving))
  const rows = changed.map(({ resource, nowMs, by, dueAtMs }) => {
    const { namespace, id, fence, grants, waiters } = resource
    const state = stateOf(resource, { atMs: nowMs, by })
    return [namespace, id, fence, grants.size, waiters.size, dueAtMs ?? null, state]
  })
  // They are all there, and locked: this is how several rows are updated in one statement.
  const update = `INSERT INTO baton_resources (namespace, resource, fence, grants, waiters, due_at_ms, state) VALUES ?
    ON DUPLICATE KEY UPDATE fence = VALUES(fence), grants = VALUES(grants), waiters = VALUES(waiters),
    due_at_ms = VALUES(due_at_ms), state = VALUES(state)`
  await writer.insert(update, rows)
}

function hasChanged({ resource, row, by }: Saving): boolean {
  if (row.state === null || resource.fence !== row.fence) return true
  const last = lastStepOf(row)
  return stateOf(resource, { atMs: last.atMs, by: last.by ?? by }) !== row.state
}

async function writeWaiters(writer: Writer, { resource, by }: Saving): Promise<void> {
  const { namespace, id, waiters } = resource
  const { appended, removed, renewed } = waiters.changes
  const bodyOf = (waiter: Waiter) => [dueAtMs(waiter) ?? null, JSON.stringify({ ...waiter, process: by })]
  const columns = 'namespace, resource, operation, ticket, owner, node, revision, due_at_ms, body'
  const rows = appended.map((waiter) => {
    const { operation, ticket, owner, node, revision } = waiter
    return [namespace, id, operation, ticket, owner, node, revision ?? null, ...bodyOf(waiter)]
  })
  await writer.insert(`INSERT INTO baton_waiters (${columns}) VALUES ?`, rows)
  for (const operation of new Set(removed.map((waiter) => waiter.operation))) {
    const tickets = removed.filter((waiter) => waiter.operation === operation).map(({ ticket }) => ticket)
    const statement =
      'DELETE FROM baton_waiters WHERE namespace = ? AND resource = ? AND operation = ? AND ticket IN (?)'
    for (let from = 0; from < tickets.length; from += ROWS)
      await writer.write(statement, namespace, id, operation, tickets.slice(from, from + ROWS))
  }
  for (const waiter of renewed) {
    const statement = `UPDATE baton_waiters SET due_at_ms = ?, body = ?
      WHERE namespace = ? AND resource = ? AND operation = ? AND ticket = ?`
    await writer.write(statement, ...bodyOf(waiter), namespace, id, waiter.operation, waiter.ticket)
  }
}

async function writeMemories(writer: Writer, savings: readonly Saving[]): Promise<void> {
  const columns = ['namespace', 'resource', 'operation', 'owner', 'hold', 'kind', 'node_hash']
  const upsert = `INSERT INTO baton_remembered (${columns.join(', ')}, until_ms, body) VALUES ?
    ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms), body = VALUES(body)`
  const rows: Values[] = []
  const gone: Values[] = []
  for (const { resource } of savings) {
    for (const [kind, { changes }] of [
      ['answer', resource.answers],
      ['released', resource.released],
    ] as const) {
      for (const { name, node, value } of changes) {
        const key = [resource.namespace, resource.id, ...(JSON.parse(name) as string[]), kind, hashOf(node)]
        if (value) rows.push([...key, value.untilMs, JSON.stringify(value)])
        else gone.push(key)
      }
    }
  }
  await writer.remove('baton_remembered', columns, gone)
  await writer.insert(upsert, rows)
}

/** Tells what several nodes have under one name apart: the key has no room for another id. Empty for what is any node's. */
function hashOf(node: string | undefined): string {
  return node === undefined ? '' : createHash('sha256').update(node).digest('hex')
}

async function writePlaces(writer: Writer, savings: readonly Saving[]): Promise<void> {
  const rowsOf = (which: keyof PlaceChanges) =>
    savings.flatMap(({ resource, places }) =>
      places[which].map(({ session, operation, owner, node }: SessionPlace) => {
        return [session, resource.namespace, resource.id, operation, owner, node]
      }),
    )
  const columns = ['session', 'namespace', 'resource', 'operation', 'owner', 'node']
  // A row of version 1 has no node, and is whoever's comes first.
  await writer.remove('baton_places', columns, [
    ...rowsOf('lost'),
    ...rowsOf('lost').map((row) => [...row.slice(0, -1), '']),
  ])
  await writer.insert(`INSERT IGNORE INTO baton_places (${columns.join(', ')}) VALUES ?`, rowsOf('gained'))
}
