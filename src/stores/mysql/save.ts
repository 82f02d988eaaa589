import { type Command, type Event, isIdle, type Waiter } from '../../core/index.ts'
import { Packet, type Run } from './connections.ts'
import { dueOf, lastStepOf, type ResourceInRows, type ResourceRow, stateOf } from './resource-row.ts'
import type { SessionPlaces } from './session-places.ts'
import { dueAtMs } from './waiters-in-rows.ts'

export interface Saving {
  readonly resource: ResourceInRows
  readonly row: ResourceRow
  /** The process that took the steps. */
  readonly by: string
  readonly nowMs: number
  readonly shard: number
  readonly fenceFloor: number
  readonly commands: readonly Command[]
  readonly places: SessionPlaces
  readonly mail: { readonly to: readonly string[]; readonly body: string } | undefined
  readonly history: readonly { readonly command: Command; readonly reply: unknown; readonly events: readonly Event[] }[]
}

const ROWS = 500
/** Beyond this a packet is sent before the next rows are added: the server takes 16 MB at most. */
const BYTES = 1_000_000

/** Writes all that steps have changed, but does not commit it. What is left goes into the packet that commits. */
export async function save(run: Run, saving: Saving): Promise<Packet> {
  const writer = new Writer(run)
  await writeResource(writer, saving)
  await writeWaiters(writer, saving)
  await writeMemories(writer, saving)
  await writePlaces(writer, saving)
  const { mail, history, resource, nowMs } = saving
  if (mail) {
    const rows = mail.to.map((process) => [process, nowMs, mail.body])
    await writer.insert('INSERT INTO baton_mail (process, at_ms, body) VALUES ?', rows)
  }
  const steps = history.map((step) => [resource.namespace, resource.id, JSON.stringify({ nowMs, ...step })])
  await writer.insert('INSERT INTO baton_history (namespace, resource, body) VALUES ?', steps)
  return writer.packet
}

class Writer {
  readonly #run: Run
  packet = new Packet()
  #bytes = 0

  constructor(run: Run) {
    this.#run = run
  }

  async write(statement: string, ...values: unknown[]): Promise<void> {
    if (this.#bytes > BYTES) {
      await this.#run(this.packet)
      this.packet = new Packet()
      this.#bytes = 0
    }
    this.packet.add(statement, ...values)
    for (const value of values) this.#bytes += sizeOf(value)
  }

  /** So many rows at a time; nothing where there are none. */
  async insert(statement: string, rows: readonly (readonly unknown[])[]): Promise<void> {
    for (let from = 0; from < rows.length; ) {
      let to = from
      for (let bytes = 0; to < rows.length && to - from < ROWS && bytes < BYTES; to++) bytes += sizeOf(rows[to])
      await this.write(statement, rows.slice(from, to))
      from = to
    }
  }
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + sizeOf(each), 0)
  return typeof value === 'string' ? value.length : 8
}

async function writeResource(writer: Writer, saving: Saving): Promise<void> {
  const { resource, row, nowMs, by, shard, fenceFloor } = saving
  const { namespace } = resource
  const where = 'WHERE namespace = ? AND resource = ?'
  if (isIdle(resource)) {
    if (resource.fence > fenceFloor) {
      const raise = 'UPDATE baton_shards SET fence_floor = GREATEST(fence_floor, ?) WHERE shard = ?'
      await writer.write(raise, resource.fence, shard)
    }
    return writer.write(`DELETE FROM baton_resources ${where}`, namespace, resource.id)
  }
  if (row.state !== null && resource.fence === row.fence) {
    const { atMs, by: lastBy } = lastStepOf(row)
    if (stateOf(resource, { atMs, by: lastBy ?? by }) === row.state) return
  }
  const set = 'SET fence = ?, grants = ?, waiters = ?, due_at_ms = ?, state = ?'
  const values = [resource.fence, resource.grants.size, resource.waiters.size, dueOf(resource) ?? null]
  await writer.write(
    `UPDATE baton_resources ${set} ${where}`,
    ...values,
    stateOf(resource, { atMs: nowMs, by }),
    namespace,
    resource.id,
  )
}

async function writeWaiters(writer: Writer, { resource }: Saving): Promise<void> {
  const { namespace } = resource
  const { appended, removed, renewed } = resource.waiters.changes
  const bodyOf = (waiter: Waiter) => [dueAtMs(waiter) ?? null, JSON.stringify(waiter)]
  const columns = 'namespace, resource, operation, ticket, owner, node, revision, due_at_ms, body'
  const rows = appended.map((waiter) => {
    const { operation, ticket, owner, node, revision } = waiter
    return [namespace, resource.id, operation, ticket, owner, node, revision ?? null, ...bodyOf(waiter)]
  })
  await writer.insert(`INSERT INTO baton_waiters (${columns}) VALUES ?`, rows)
  for (const operation of new Set(removed.map((waiter) => waiter.operation))) {
    const tickets = removed.filter((waiter) => waiter.operation === operation).map(({ ticket }) => ticket)
    const statement =
      'DELETE FROM baton_waiters WHERE namespace = ? AND resource = ? AND operation = ? AND ticket IN (?)'
    for (let from = 0; from < tickets.length; from += ROWS)
      await writer.write(statement, namespace, resource.id, operation, tickets.slice(from, from + ROWS))
  }
  for (const waiter of renewed) {
    const statement = `UPDATE baton_waiters SET due_at_ms = ?, body = ?
      WHERE namespace = ? AND resource = ? AND operation = ? AND ticket = ?`
    await writer.write(statement, ...bodyOf(waiter), namespace, resource.id, waiter.operation, waiter.ticket)
  }
}

/** Only this resource's steps write its memories, one after the other: no row is ever fought for. */
async function writeMemories(writer: Writer, { resource }: Saving): Promise<void> {
  const { namespace } = resource
  const columns = 'namespace, resource, operation, owner, hold, kind, until_ms, body'
  const upsert = `INSERT INTO baton_remembered (${columns}) VALUES ?
    ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms), body = VALUES(body)`
  const gone = `DELETE FROM baton_remembered
    WHERE namespace = ? AND resource = ? AND operation = ? AND owner = ? AND hold = ? AND kind = ?`
  for (const [kind, { changes }] of [
    ['answer', resource.answers],
    ['released', resource.released],
  ] as const) {
    const rows: unknown[][] = []
    for (const [name, value] of changes) {
      const key = [namespace, resource.id, ...(JSON.parse(name) as string[]), kind]
      if (value) rows.push([...key, value.untilMs, JSON.stringify(value)])
      else await writer.write(gone, ...key)
    }
    await writer.insert(upsert, rows)
  }
}

async function writePlaces(writer: Writer, { resource, commands, places }: Saving): Promise<void> {
  const { namespace } = resource
  const { added, gone } = places.changes(resource, commands)
  const insert = 'INSERT IGNORE INTO baton_places (session, namespace, resource, operation, owner) VALUES ?'
  await writer.insert(
    insert,
    added.map(({ session, operation, owner }) => [session, namespace, resource.id, operation, owner]),
  )
  const remove = `DELETE FROM baton_places
    WHERE session = ? AND namespace = ? AND resource = ? AND operation = ? AND owner = ?`
  for (const { session, operation, owner } of gone)
    await writer.write(remove, session, namespace, resource.id, operation, owner)
}
