import { type Acquire, type Command, type Event, policyOf, type Reply, step } from '../../core/index.ts'
import { hashOf, nameOf } from '../shards.ts'
import type { Address, SessionRefusal } from '../store.ts'
import { type Connections, Packet, type Run } from './connections.ts'
import { isConflict, unknownOutcome } from './failures.ts'
import { addMemories, FIRST_WAITERS, type Loading, load, namesOf, takeFirst, takeMemories } from './load.ts'
import { NotLoaded } from './loaded.ts'
import { type Letter, READ_MAIL } from './mailbox.ts'
import { dueOf, Loaded, lastStepOf, type ResourceInRows, type ResourceRow, resourceFromRow } from './resource-row.ts'
import { type Saving, save } from './save.ts'
import { SessionPlaces } from './session-places.ts'
import { askSurroundings, type Neighbours, type Surroundings, surroundingsOf } from './surroundings.ts'

export interface TakenStep {
  readonly command: Command
  readonly reply: Reply | SessionRefusal
  readonly events: readonly Event[]
}

/** Commands on one resource, to be run one after another. */
export interface Job {
  readonly address: Address
  readonly commands: readonly Command[]
  /** By when it has to be done, by `performance.now()`. */
  readonly endMs: number
}

/** What came of a batch of commands on one resource. */
export interface Batch {
  readonly steps: readonly TakenStep[]
  readonly letter: Letter
  /** How many more wait than before. */
  readonly waiting: number
  /** Somebody waits. */
  readonly isCrowded: boolean
  /** Other processes whose mail has come. */
  readonly ring: readonly string[]
}

const SHARDS = 32
/** So many of the first waiters are read with the lock: whoever is next is most often among them. */
const HEADS = 4
/** A step that wants more than this one thing after another is lost in a loop. */
const LOADS = 60

/** What a resource and its surroundings are at the moment of a step, its row locked. */
interface Locked extends Omit<Surroundings, 'floors'> {
  readonly row: ResourceRow
  readonly shard: number
  readonly fenceFloor: number
  readonly loaded: Loaded
  readonly alive: ReadonlySet<string>
}

const NOTHING: ResourceRow = { fence: 0, state: null }

/**
 * Runs commands on one resource: one transaction, in which the resource's row is locked, the steps are taken here by the
 * core, and all that they changed is written. Two packets where nobody waits.
 */
export class Steps {
  readonly #connections: Connections
  readonly #neighbours: Neighbours
  readonly #recordHistory: boolean

  constructor(
    connections: Connections,
    neighbours: Neighbours,
    { recordHistory }: { readonly recordHistory: boolean },
  ) {
    this.#connections = connections
    this.#neighbours = neighbours
    this.#recordHistory = recordHistory
  }

  async run({ address, commands, endMs }: Job): Promise<Batch> {
    return this.#connections.transaction(async (run) => {
      const locked = await this.#lock(run, address, { commands, mode: 'FOR UPDATE' })
      const taken = await loadedFor(run, { ...address, ...locked, commands }, () => take(address, locked, commands))
      return this.#keep(run, address, { ...locked, ...taken })
    }, endMs)
  }

  /**
   * Several resources in one transaction: each that is there, that nobody else has locked, and that needs no more than
   * what is read for all of them. It waits for nobody. The others are left to `run`, and nothing is changed of them.
   */
  async runTogether(jobs: readonly Job[]): Promise<readonly (Batch | undefined)[]> {
    return this.#connections.transaction(
      async (run) => {
        const locked = await this.#lockFree(run, jobs)
        const kept = jobs.map((job, index) => this.#withoutMore(job, locked[index]))
        const savings = kept.flatMap((each) => each?.saving ?? [])
        if (savings.length === 0) await run(new Packet().add('ROLLBACK'))
        else await commit(run, await save(run, savings))
        return kept.map((each) => each?.batch)
      },
      Math.min(...jobs.map(({ endMs }) => endMs)),
    )
  }

  async #lockFree(run: Run, jobs: readonly Job[]): Promise<readonly (Locked | undefined)[]> {
    const addresses = jobs.map(({ address }) => address)
    const any = addresses.map(() => '(namespace = ? AND resource = ?)').join(' OR ')
    const packet = new Packet().add('START TRANSACTION').add(
      `SELECT namespace, resource, fence, state FROM baton_resources FORCE INDEX (PRIMARY)
        WHERE ${any} FOR UPDATE SKIP LOCKED`,
      ...addresses.flatMap(({ namespace, resource }) => [namespace, resource]),
    )
    askSurroundings(packet, this.#neighbours, [...new Set(addresses.map(({ resource }) => shardOf(resource)))])
    const wanted = jobs.map(({ address, commands }) => ({ ...address, names: namesOf(commands.filter(isAcquire)) }))
    const memories = wanted.filter(({ names }) => names.length > 0)
    const sessions = sessionsOf(jobs.flatMap(({ commands }) => commands))
    if (memories.length > 0) addMemories(packet, memories)
    if (sessions.length > 0) packet.add(aliveOf(this.#neighbours.clock.sql), sessions)
    const results = await run(packet)
    const surroundings = await surroundingsOf(run, { store: results[2][0], floors: results[3] }, this.#neighbours)
    const rows = new Map((results[1] as (Address & ResourceRow)[]).map((row) => [nameOf(row), row]))
    await this.#takeMail(run, [...rows.values()])
    return wanted.map(({ names, ...address }) => {
      const row = rows.get(nameOf(address))
      if (!row) return undefined
      const loaded = new Loaded()
      const ofIt = memories.length > 0 ? results[4].filter((each: Address) => nameOf(each) === nameOf(address)) : []
      takeMemories(loaded, names, ofIt)
      const alive = sessions.length > 0 ? results.at(-1) : []
      return lockedOf(row, { loaded, alive, shard: shardOf(address.resource), surroundings })
    })
  }

  /** Nothing where it would have to be asked for more. */
  #withoutMore({ address, commands }: Job, locked: Locked | undefined): Kept | undefined {
    if (!locked) return undefined
    try {
      const taken = take(address, locked, commands)
      if (this.#neighbours.mailbox.elsewhere(eventsOf(taken.steps)).length > 0) return undefined
      return this.#kept(address, { ...locked, ...taken }, eventsOf(taken.steps).length > 0 ? locked.hearers : [])
    } catch (error) {
      if (error instanceof NotLoaded) return undefined
      throw error
    }
  }

  /** A look at a resource as it is now; whoever changes it waits meanwhile. Nothing where there is none. */
  async look<Result>(
    address: Address,
    { names = [], view }: { readonly names?: readonly string[]; readonly view: (resource: ResourceInRows) => Result },
  ): Promise<{ readonly result: Result | undefined; readonly isDue: boolean }> {
    return this.#connections.transaction(async (run) => {
      const locked = await this.#lock(run, address, { commands: [], names, mode: 'LOCK IN SHARE MODE' })
      const looked = await loadedFor(run, { ...address, ...locked, commands: [] }, () => {
        const resource = resourceFromRow(locked.row, address, locked.loaded)
        const { events } = step(resource, { type: 'expire' }, contextOf(address, locked))
        const isDue = events.length > 0
        return { isDue, result: locked.row.state === null || isDue ? undefined : view(resource) }
      })
      await run(new Packet().add('COMMIT'))
      return looked
    })
  }

  /** A row that is not there is made first: nothing that is read here may be older than its lock. */
  async #lock(
    run: Run,
    { namespace, resource }: Address,
    {
      commands,
      names = namesOf(commands.filter(isAcquire)),
      mode,
    }: { commands: readonly Command[]; names?: readonly string[]; mode: 'FOR UPDATE' | 'LOCK IN SHARE MODE' },
  ): Promise<Locked> {
    const shard = shardOf(resource)
    const sessions = sessionsOf(commands)
    const operations = [...new Set(commands.flatMap((command) => ('operation' in command ? command.operation : [])))]
    const ask = (packet: Packet) => {
      packet.add(
        `SELECT fence, state FROM baton_resources WHERE namespace = ? AND resource = ? ${mode}`,
        namespace,
        resource,
      )
      askSurroundings(packet, this.#neighbours, [shard])
      packet.add(READ_MAIL, this.#neighbours.mailbox.process)
      if (names.length > 0) addMemories(packet, [{ namespace, resource, names }])
      if (sessions.length > 0) packet.add(aliveOf(this.#neighbours.clock.sql), sessions)
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
    const more = results.slice(4)
    // What others have done to it came before what is done now.
    this.#neighbours.mailbox.take(more.shift())
    if (names.length > 0) takeMemories(loaded, names, more.shift())
    const alive = sessions.length > 0 ? more.shift() : []
    for (const [index, operation] of operations.entries())
      takeFirst(loaded.waiters, { operation, count: HEADS, rows: more[index] })
    const surroundings = await surroundingsOf(run, { store: results[2][0], floors: results[3] }, this.#neighbours)
    return lockedOf(row, { loaded, alive, shard, surroundings })
  }

  /** What another process has changed last may have come as mail, and that comes before what is done now. */
  async #takeMail(run: Run, rows: readonly ResourceRow[]): Promise<void> {
    const { mailbox } = this.#neighbours
    const isOthers = ({ by }: { by: string | undefined }) => by !== undefined && by !== mailbox.process
    if (rows.some((row) => isOthers(lastStepOf(row)))) await mailbox.takeAlong(run)
  }

  async #keep(run: Run, address: Address, taken: Locked & Taken): Promise<Batch> {
    const { mailbox } = this.#neighbours
    const ring = await mailbox.concerned(run, eventsOf(taken.steps), taken)
    const kept = this.#kept(address, taken, ring)
    await commit(run, await save(run, [kept.saving]))
    return kept.batch
  }

  /** What is to be written of it, and what came of it. */
  #kept(address: Address, taken: Locked & Taken, ring: readonly string[]): Kept {
    const { resource, nowMs, steps } = taken
    const letter: Letter = { ...address, atMs: nowMs, dueAtMs: dueOf(resource), events: eventsOf(steps) }
    const saving = {
      ...taken,
      by: this.#neighbours.mailbox.process,
      mail: ring.length > 0 ? { to: ring, body: JSON.stringify(letter) } : undefined,
      history: this.#recordHistory ? steps : [],
    }
    const isCrowded = resource.waiters.size > 0
    return { saving, batch: { letter, steps, ring, isCrowded, waiting: resource.waiters.size - taken.waitersBefore } }
  }
}

interface Kept {
  readonly saving: Saving
  readonly batch: Batch
}

function eventsOf(steps: readonly TakenStep[]): Event[] {
  return steps.flatMap(({ events }) => events)
}

interface Taken {
  readonly resource: ResourceInRows
  readonly places: SessionPlaces
  readonly waitersBefore: number
  readonly commands: readonly Command[]
  readonly steps: readonly TakenStep[]
}

/** The steps themselves, on a resource as it was read. Nothing outside of that is changed. */
function take(address: Address, locked: Locked, commands: readonly Command[]): Taken {
  const resource = resourceFromRow(locked.row, address, locked.loaded)
  const waitersBefore = resource.waiters.size
  const places = new SessionPlaces(resource)
  const context = contextOf(address, locked)
  const steps = commands.map((command): TakenStep => {
    if (isAcquire(command) && command.session !== undefined && !locked.alive.has(command.session))
      return { command, reply: { status: 'refused', code: 'session-lost' }, events: [] }
    return { command, ...step(resource, command, context) }
  })
  return { resource, places, waitersBefore, commands, steps }
}

/** Does the work with what is loaded; where it wants more, that is loaded, and the work done again from the start. */
async function loadedFor<Result>(
  run: Run,
  around: Omit<Loading, 'wanted'> & { readonly loaded: Loaded },
  work: () => Result,
): Promise<Result> {
  for (let loads = 0; ; loads++) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof NotLoaded) || loads === LOADS) throw error
      await load(run, around.loaded, { ...around, wanted: error.wanted })
    }
  }
}

function contextOf({ namespace }: Address, { nowMs, policy, fenceFloor }: Locked) {
  return { nowMs, policy: policyOf(policy, namespace), fenceFloor }
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

/** The sessions that asks hang off. */
function sessionsOf(commands: readonly Command[]): string[] {
  return [...new Set(commands.filter(isAcquire).flatMap(({ session }) => session ?? []))]
}

/** Locked as it is until the step is committed: a session cannot end meanwhile. */
function aliveOf(nowSql: string): string {
  return `SELECT session FROM baton_sessions
    WHERE session IN (?) AND ended IS NULL AND expires_at_ms > ${nowSql} LOCK IN SHARE MODE`
}

/** Whatever goes wrong here leaves open whether it was done, unless the engine says that it gave way. */
async function commit(run: Run, packet: Packet): Promise<void> {
  try {
    await run(packet.add('COMMIT'))
  } catch (error) {
    throw isConflict(error) ? error : unknownOutcome(error)
  }
}

function isAcquire(command: Command): command is Acquire {
  return command.type === 'acquire'
}
