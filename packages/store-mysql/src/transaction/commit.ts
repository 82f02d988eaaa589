import { createHash } from 'node:crypto'
import type { PlaceChanges, SessionPlace, Waiter } from '@baton-lock/core'
import { shardOf } from '@baton-lock/store/address'
import { type Change, waiterDueMs } from '@baton-lock/store/remote'
import { isConflict, isNoBell, unknownOutcome } from '../connection/failures.ts'
import type { Run } from '../connection/packet.ts'
import { type Ringer, ringing } from '../notifications/bell.ts'
import { type Values, Writer } from './writer.ts'

/**
 * Writes all that steps have changed, of all resources together, commits it, and rings at those whom its letters are for.
 * Every row belongs to a resource that is locked, so none is ever fought for.
 */
export async function commit(run: Run, changes: readonly Change[], ringer: Ringer): Promise<void> {
  const writer = new Writer(run)
  await writeResources(writer, changes)
  for (const change of changes) await writeWaiters(writer, change)
  await writeMemories(writer, changes)
  await writePlaces(writer, changes)
  const mail = changes.flatMap(({ letter, nowMs }) => letter?.to.map((process) => [process, nowMs, letter.text]) ?? [])
  await writer.insert('INSERT INTO baton_mail (process, at_ms, body) VALUES ?', mail)
  const steps = changes.flatMap(({ address: { namespace, resource }, nowMs, steps }) =>
    steps.map(({ command, facts, reply, events }) => {
      return [namespace, resource, JSON.stringify({ nowMs, command, facts, reply, events })]
    }),
  )
  await writer.insert('INSERT INTO baton_history (namespace, resource, body) VALUES ?', steps)
  const ring = new Set(changes.flatMap(({ letter }) => letter?.to ?? []))
  ringer.ring(await committed(run, writer, [...ring]))
}

/**
 * Commits, and rings with the same packet at those whose bells are known here; returns the others. Whatever goes wrong
 * leaves open whether it was done, unless the engine says that it gave way, or only a bell was not there any more.
 */
async function committed(run: Run, { packet }: Writer, ring: readonly string[]): Promise<readonly string[]> {
  const known = ring.filter((process) => run.bells.has(process))
  packet.add('COMMIT')
  for (const process of known) packet.add(ringing(run.bells.get(process)!))
  try {
    await run(packet)
    return ring.filter((process) => !known.includes(process))
  } catch (error) {
    if (!isNoBell(error)) throw isConflict(error) ? error : unknownOutcome(error)
    for (const process of known) run.bells.delete(process)
    return ring
  }
}

async function writeResources(writer: Writer, changes: readonly Change[]): Promise<void> {
  const idle = changes.filter(({ state }) => state === 'idle')
  for (const { address, fence, leavesFence } of idle) {
    const raise = 'UPDATE baton_shards SET fence_floor = GREATEST(fence_floor, ?) WHERE shard = ?'
    if (leavesFence) await writer.write(raise, fence, shardOf(address.resource))
  }
  const names = idle.map(({ address }) => [address.namespace, address.resource])
  await writer.remove('baton_resources', ['namespace', 'resource'], names)
  const rows = changes.flatMap(({ address: { namespace, resource }, fence, state }) => {
    if (state === undefined || state === 'idle') return []
    return [[namespace, resource, fence, state.grants, state.waiters, state.dueAtMs ?? null, state.text]]
  })
  // They are all there, and locked: this is how several rows are updated in one statement.
  const update = `INSERT INTO baton_resources (namespace, resource, fence, grants, waiters, due_at_ms, state) VALUES ?
    ON DUPLICATE KEY UPDATE fence = VALUES(fence), grants = VALUES(grants), waiters = VALUES(waiters),
    due_at_ms = VALUES(due_at_ms), state = VALUES(state)`
  await writer.insert(update, rows)
}

async function writeWaiters(writer: Writer, { address: { namespace, resource }, waiters }: Change): Promise<void> {
  const { appended, removed, renewed } = waiters
  const leaseOf = (waiter: Waiter) => [
    waiterDueMs(waiter) ?? null,
    waiter.lease.session ?? null,
    JSON.stringify(waiter),
  ]
  const columns = 'namespace, resource, operation, ticket, owner, node, revision, due_at_ms, session, body'
  const rows = appended.map((waiter) => {
    const { operation, ticket, owner, node, revision } = waiter
    return [namespace, resource, operation, ticket, owner, node, revision ?? null, ...leaseOf(waiter)]
  })
  await writer.insert(`INSERT INTO baton_waiters (${columns}) VALUES ?`, rows)
  for (const operation of new Set(removed.map((waiter) => waiter.operation))) {
    const tickets = removed.filter((waiter) => waiter.operation === operation).map(({ ticket }) => ticket)
    const where = 'baton_waiters WHERE namespace = ? AND resource = ? AND operation = ? AND ticket'
    await writer.removeIn(where, [namespace, resource, operation], tickets)
  }
  for (const waiter of renewed) {
    const statement = `UPDATE baton_waiters SET due_at_ms = ?, session = ?, body = ?
      WHERE namespace = ? AND resource = ? AND operation = ? AND ticket = ?`
    await writer.write(statement, ...leaseOf(waiter), namespace, resource, waiter.operation, waiter.ticket)
  }
}

async function writeMemories(writer: Writer, changes: readonly Change[]): Promise<void> {
  const columns = ['namespace', 'resource', 'operation', 'owner', 'hold', 'kind', 'node_hash']
  const upsert = `INSERT INTO baton_remembered (${columns.join(', ')}, until_ms, body) VALUES ?
    ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms), body = VALUES(body)`
  const rows: Values[] = []
  const gone: Values[] = []
  for (const { address, memories } of changes) {
    for (const { operation, owner, hold, kind, node, value } of memories) {
      const key = [address.namespace, address.resource, operation, owner, hold, kind, hashOf(node)]
      if (value) rows.push([...key, value.untilMs, JSON.stringify(value)])
      else gone.push(key)
    }
  }
  await writer.remove('baton_remembered', columns, gone)
  await writer.insert(upsert, rows)
}

/** Tells what several nodes have under one name apart: the key has no room for another id. Empty for what is any node's. */
function hashOf(node: string | undefined): string {
  return node === undefined ? '' : createHash('sha256').update(node).digest('hex')
}

async function writePlaces(writer: Writer, changes: readonly Change[]): Promise<void> {
  const rowsOf = (which: keyof PlaceChanges) =>
    changes.flatMap(({ address: { namespace, resource }, places }) =>
      places[which].map(({ session, operation, owner, node }: SessionPlace) => {
        return [session, namespace, resource, operation, owner, node]
      }),
    )
  const columns = ['session', 'namespace', 'resource', 'operation', 'owner', 'node']
  await writer.remove('baton_places', columns, rowsOf('lost'))
  await writer.insert(`INSERT IGNORE INTO baton_places (${columns.join(', ')}) VALUES ?`, rowsOf('gained'))
}
