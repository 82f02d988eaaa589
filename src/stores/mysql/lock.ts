import type { Acquire, Command, Facts } from '../../core/index.ts'
import { hashOf, nameOf } from '../shards.ts'
import type { Address } from '../store.ts'
import { addMemories, FIRST_WAITERS, namesOf, takeFirst, takeMemories } from './load.ts'
import { READ_MAIL } from './mailbox.ts'
import { Packet, type Run } from './packet.ts'
import { Loaded, lastStepOf, type ResourceRow } from './resource-row.ts'
import { askSurroundings, type Neighbours, type Surroundings, surroundingsOf } from './surroundings.ts'

/** A command, and what its caller knows of whoever gave it. */
export interface Taking {
  readonly command: Command
  readonly facts?: Facts | undefined
}

/** Commands on one resource, to be run one after another. */
export interface Job {
  readonly address: Address
  readonly takings: readonly Taking[]
  /** By when it has to be done, by `performance.now()`. */
  readonly endMs: number
}

const SHARDS = 32
/** So many of the first waiters are read with the lock: whoever is next is most often among them. */
const HEADS = 4

/** What a resource and its surroundings are at the moment of a step, its row locked. */
export interface Locked extends Omit<Surroundings, 'floors'> {
  readonly row: ResourceRow
  readonly shard: number
  readonly fenceFloor: number
  readonly loaded: Loaded
  readonly alive: ReadonlySet<string>
}

const NOTHING: ResourceRow = { fence: 0, state: null }

interface LockOptions {
  readonly commands: readonly Command[]
  readonly names?: readonly string[]
  readonly mode: 'FOR UPDATE' | 'LOCK IN SHARE MODE'
  readonly neighbours: Neighbours
}

/** A row that is not there is made first: nothing that is read here may be older than its lock. */
export async function lock(
  run: Run,
  { namespace, resource }: Address,
  { commands, names = namesOf(commands.filter(isAcquire)), mode, neighbours }: LockOptions,
): Promise<Locked> {
  const shard = shardOf(resource)
  const sessions = sessionsOf(commands)
  const operations = handingOver(commands)
  const ask = (packet: Packet) => {
    packet.add(
      `SELECT fence, state FROM baton_resources WHERE namespace = ? AND resource = ? ${mode}`,
      namespace,
      resource,
    )
    askSurroundings(packet, neighbours, [shard])
    packet.add(READ_MAIL, neighbours.mailbox.process)
    if (names.length > 0) addMemories(packet, [{ namespace, resource, names }])
    if (sessions.length > 0) packet.add(aliveOf(neighbours.clock.sql), sessions)
    for (const operation of operations) packet.add(FIRST_WAITERS, namespace, resource, operation, HEADS)
    return run(packet)
  }
  let results = await ask(new Packet().add('START TRANSACTION'))
  if (results[1].length === 0 && mode === 'FOR UPDATE') {
    const create = 'INSERT IGNORE INTO baton_resources (namespace, resource) VALUES (?, ?)'
    results = await ask(new Packet().add(create, namespace, resource))
  }
  const row: ResourceRow = results[1][0] ?? NOTHING
  const loaded = new Loaded()
  const more = results.slice(3)
  // What others have done to it came before what is done now.
  neighbours.mailbox.take(more.shift())
  if (names.length > 0) takeMemories(loaded, names, more.shift())
  const alive = sessions.length > 0 ? more.shift() : []
  for (const [index, operation] of operations.entries())
    takeFirst(loaded.waiters, { operation, count: HEADS, rows: more[index] })
  const surroundings = await surroundingsOf(run, results[2], neighbours)
  return lockedOf(row, { loaded, alive, shard, surroundings })
}

/** Those that are there and that nobody else has locked; nothing for the others. */
export async function lockFree(
  run: Run,
  jobs: readonly Job[],
  neighbours: Neighbours,
): Promise<readonly (Locked | undefined)[]> {
  const addresses = jobs.map(({ address }) => address)
  const any = addresses.map(() => '(namespace = ? AND resource = ?)').join(' OR ')
  const packet = new Packet().add('START TRANSACTION').add(
    `SELECT namespace, resource, fence, state FROM baton_resources FORCE INDEX (PRIMARY)
      WHERE ${any} FOR UPDATE SKIP LOCKED`,
    ...addresses.flatMap(({ namespace, resource }) => [namespace, resource]),
  )
  askSurroundings(packet, neighbours, [...new Set(addresses.map(({ resource }) => shardOf(resource)))])
  const commandsOf = ({ takings }: Job) => takings.map(({ command }) => command)
  const wanted = jobs.map((job) => ({ ...job.address, names: namesOf(commandsOf(job).filter(isAcquire)) }))
  const memories = wanted.filter(({ names }) => names.length > 0)
  const sessions = sessionsOf(jobs.flatMap(commandsOf))
  if (memories.length > 0) addMemories(packet, memories)
  if (sessions.length > 0) packet.add(aliveOf(neighbours.clock.sql), sessions)
  const results = await run(packet)
  const surroundings = await surroundingsOf(run, results[2], neighbours)
  const rows = new Map((results[1] as (Address & ResourceRow)[]).map((row) => [nameOf(row), row]))
  await takeMail(run, [...rows.values()], neighbours)
  return wanted.map(({ names, ...address }) => {
    const row = rows.get(nameOf(address))
    if (!row) return undefined
    const loaded = new Loaded()
    const ofIt = memories.length > 0 ? results[3].filter((each: Address) => nameOf(each) === nameOf(address)) : []
    takeMemories(loaded, names, ofIt)
    const alive = sessions.length > 0 ? results.at(-1) : []
    return lockedOf(row, { loaded, alive, shard: shardOf(address.resource), surroundings })
  })
}

/** What another process has changed last may have come as mail, and that comes before what is done now. */
async function takeMail(run: Run, rows: readonly ResourceRow[], { mailbox }: Neighbours): Promise<void> {
  const isOthers = ({ by }: { by: string | undefined }) => by !== undefined && by !== mailbox.process
  if (rows.some((row) => isOthers(lastStepOf(row)))) await mailbox.takeAlong(run)
}

function lockedOf(row: ResourceRow, { loaded, alive, shard, surroundings }: LockedParts): Locked {
  const { floors, ...around } = surroundings
  return {
    ...around,
    row,
    shard,
    loaded,
    fenceFloor: floors.get(shard)!,
    alive: new Set(alive.map(({ session }) => session)),
    nowMs: Math.max(around.nowMs, lastStepOf(row).atMs),
  }
}

interface LockedParts {
  readonly loaded: Loaded
  readonly alive: readonly { readonly session: string }[]
  readonly shard: number
  readonly surroundings: Surroundings
}

function shardOf(resource: string): number {
  return hashOf(resource) % SHARDS
}

/** The operations whose next waiter may be wanted: not those that are only asked for. */
function handingOver(commands: readonly Command[]): string[] {
  const ending = commands.filter((command) => !isAcquire(command))
  return [...new Set(ending.flatMap((command) => ('operation' in command ? command.operation : [])))]
}

/** The sessions that asks hang off. */
function sessionsOf(commands: readonly Command[]): string[] {
  return [...new Set(commands.filter(isAcquire).flatMap(({ session }) => session ?? []))]
}

/** Locked as it is until the step is committed: a session cannot end meanwhile. */
function aliveOf(nowSql: string): string {
  return `SELECT session FROM baton_sessions
    WHERE session IN (?) AND ended IS NULL AND expires_at_ms > ${nowSql} LOCK IN SHARE MODE`
}

export function isAcquire(command: Command): command is Acquire {
  return command.type === 'acquire'
}
