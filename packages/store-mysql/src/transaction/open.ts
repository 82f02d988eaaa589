import { nameOf, shardOf } from '@baton-lock/store/address'
import type { Opened, OpenedResource, Opening, OpenMode, Part, Wanted } from '@baton-lock/store/remote'
import type { Address } from '@baton-lock/store/store'
import type { DatabaseClock } from '../connection/clock.ts'
import { Packet, type Results, type Run } from '../connection/packet.ts'
import { hearersOf } from '../notifications/hearers.ts'
import { type Mailbox, READ_MAIL } from '../notifications/mail.ts'
import { addMemories, addWaiters, type MemoryRow, memoriesOf, type WaiterRow, waitersOf } from './parts.ts'

export interface Around {
  readonly clock: DatabaseClock
  readonly mailbox: Mailbox
}

const LOCKS: Readonly<Record<OpenMode, string>> = {
  wait: 'FOR UPDATE',
  free: 'FOR UPDATE SKIP LOCKED',
  read: 'LOCK IN SHARE MODE',
}

/** Begins the transaction and locks rows: one packet, or two where a row has to be made first. */
export async function open(
  run: Run,
  openings: readonly Opening[],
  { how, ...around }: Around & { readonly how: OpenMode },
): Promise<Opened> {
  let read = await askFor(run, openings, { how, ...around }, new Packet().add('START TRANSACTION'))
  // Nothing that is read may be older than the lock, so all of it is read once more.
  if (how === 'wait' && read.rows.size < openings.length) {
    const rows = openings.map(({ address: { namespace, resource } }) => [namespace, resource])
    const create = 'INSERT IGNORE INTO baton_resources (namespace, resource) VALUES ?'
    read = await askFor(run, openings, { how, ...around }, new Packet().add(create, rows))
  }
  const { rows, storeRows, alive, partsOf } = read
  const [{ now_ms: nowMs, policy_version: policyVersion, hearers }] = storeRows as [StoreRow]
  around.clock.heard(nowMs)
  const floors = new Map(storeRows.map(({ shard, fence_floor }) => [shard, fence_floor]))
  const resources = openings.map(({ address, parts }): OpenedResource | undefined => {
    const row = rows.get(nameOf(address))
    if (!row && how === 'free') return undefined
    const fenceFloor = floors.get(shardOf(address.resource))!
    const text = row?.state ?? undefined
    return { nowMs, text, fence: row?.fence ?? 0, fenceFloor, parts: partsOf(address, parts) }
  })
  const others = hearersOf(hearers, nowMs).filter((process) => process !== around.mailbox.process)
  return { policyVersion, hearers: others, alive: new Set(alive.map(({ session }) => session)), resources }
}

interface ResourceRow extends Address {
  readonly fence: number
  readonly state: string | null
}

/** One for each shard that was asked for. */
interface StoreRow {
  readonly now_ms: number
  readonly policy_version: number
  readonly hearers: string | null
  readonly shard: number
  readonly fence_floor: number
}

interface Read {
  readonly rows: ReadonlyMap<string, ResourceRow>
  readonly storeRows: readonly StoreRow[]
  readonly alive: readonly { readonly session: string }[]
  readonly partsOf: (address: Address, wanted: readonly Wanted[]) => Part[]
}

/** All questions in one packet, after what is in it already. */
async function askFor(
  run: Run,
  openings: readonly Opening[],
  { how, clock, mailbox }: Around & { readonly how: OpenMode },
  packet: Packet,
): Promise<Read> {
  const any = openings.map(() => '(namespace = ? AND resource = ?)').join(' OR ')
  const addresses = openings.map(({ address }) => address)
  packet.add(
    `SELECT namespace, resource, fence, state FROM baton_resources FORCE INDEX (PRIMARY) WHERE ${any} ${LOCKS[how]}`,
    ...addresses.flatMap(({ namespace, resource }) => [namespace, resource]),
  )
  packet.add(
    `SELECT ${clock.sql} AS now_ms, policy_version, hearers, shard, fence_floor
      FROM baton_store, baton_shards WHERE id = 1 AND shard IN (?)`,
    [...new Set(addresses.map(({ resource }) => shardOf(resource)))],
  )
  packet.add(READ_MAIL, mailbox.process, 0)
  const sessions = [...new Set(openings.flatMap((opening) => opening.sessions))]
  if (sessions.length > 0) packet.add(aliveOf(clock.sql), sessions)
  const addParts = partsIn(openings, packet)
  const [, rows, storeRows, mail, ...more] = await run(packet)
  // What others have done to these came before what is done now.
  await mailbox.receiveAll(run, mail)
  const alive = sessions.length > 0 ? more.shift() : []
  const byName = new Map((rows as ResourceRow[]).map((row) => [nameOf(row), row]))
  return { rows: byName, storeRows, alive, partsOf: addParts(more) }
}

/** Adds the questions for parts, all memories in one, and says how their answers are found. */
function partsIn(openings: readonly Opening[], packet: Packet): (results: Results) => Read['partsOf'] {
  const memories = openings.flatMap(({ address, parts }) =>
    parts.flatMap((wanted) => (wanted.what === 'memories' ? { address, asks: wanted.asks } : [])),
  )
  if (memories.length > 0) addMemories(packet, memories)
  const asked: Wanted[] = []
  for (const { address, parts } of openings) {
    for (const wanted of parts) {
      if (wanted.what === 'memories' || wanted.what === 'positions') continue
      addWaiters(packet, address, wanted)
      asked.push(wanted)
    }
  }
  return (results) => {
    const remembered: readonly MemoryRow[] = memories.length > 0 ? results[0] : []
    const waiters: readonly WaiterRow[][] = results.slice(memories.length > 0 ? 1 : 0)
    return (address, wanted) =>
      wanted.map((each) =>
        each.what === 'memories'
          ? { memories: memoriesOf(remembered, address) }
          : { waiters: waitersOf(waiters[asked.indexOf(each)]!) },
      )
  }
}

/** Locked as it is until the step is committed: a session cannot end meanwhile. */
function aliveOf(nowSql: string): string {
  return `SELECT session FROM baton_sessions
    WHERE session IN (?) AND ended IS NULL AND expires_at_ms > ${nowSql} LOCK IN SHARE MODE`
}
