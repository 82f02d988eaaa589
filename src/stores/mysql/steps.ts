import { type Acquire, type Command, type Event, policyOf, type Reply, step } from '../../core/index.ts'
import { hashOf } from '../shards.ts'
import type { Address, SessionRefusal } from '../store.ts'
import { type Connections, Packet, type Run } from './connections.ts'
import { isConflict, unknownOutcome } from './failures.ts'
import { addMemories, type Loading, load, namesOf, takeMemories } from './load.ts'
import { NotLoaded } from './loaded.ts'
import type { Letter } from './mailbox.ts'
import { dueOf, Loaded, lastStepOf, type ResourceInRows, type ResourceRow, resourceFromRow } from './resource-row.ts'
import { save } from './save.ts'
import { SessionPlaces } from './session-places.ts'
import { askSurroundings, type Neighbours, type Surroundings, surroundingsOf } from './surroundings.ts'

export interface TakenStep {
  readonly command: Command
  readonly reply: Reply | SessionRefusal
  readonly events: readonly Event[]
}

/** What came of a batch of commands on one resource. */
export interface Batch {
  readonly steps: readonly TakenStep[]
  readonly letter: Letter
  /** How many more wait than before. */
  readonly waiting: number
  /** Other processes whose mail has come. */
  readonly ring: readonly string[]
}

const SHARDS = 32
/** A step that wants more than this one thing after another is lost in a loop. */
const LOADS = 60

/** What a resource and its surroundings are at the moment of a step, its row locked. */
interface Locked extends Surroundings {
  readonly row: ResourceRow
  readonly shard: number
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

  async run(address: Address, commands: readonly Command[]): Promise<Batch> {
    return this.#connections.transaction(async (run) => {
      const locked = await this.#lock(run, address, { commands, mode: 'FOR UPDATE' })
      const { taken, ...changed } = await loadedFor(run, { ...address, ...locked, commands }, () =>
        this.#take(address, locked, commands),
      )
      return this.#keep(run, address, { ...locked, ...changed, commands, steps: taken })
    })
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

  async #lock(
    run: Run,
    { namespace, resource }: Address,
    {
      commands,
      names = namesOf(commands.filter(isAcquire)),
      mode,
    }: { commands: readonly Command[]; names?: readonly string[]; mode: string },
  ): Promise<Locked> {
    const shard = hashOf(resource) % SHARDS
    const sessions = [...new Set(commands.filter(isAcquire).flatMap(({ session }) => session ?? []))]
    const select = `SELECT fence, state FROM baton_resources WHERE namespace = ? AND resource = ? ${mode}`
    const packet = new Packet().add('START TRANSACTION').add(select, namespace, resource)
    askSurroundings(packet, this.#neighbours, shard)
    if (names.length > 0) addMemories(packet, { namespace, resource }, names)
    if (sessions.length > 0) packet.add(aliveOf(this.#neighbours.clock.sql), sessions)
    const results = await run(packet)
    const row = results[1][0] ?? (mode === 'FOR UPDATE' ? await this.#create(run, { namespace, resource }) : NOTHING)
    const loaded = new Loaded()
    if (names.length > 0) takeMemories(loaded, names, results[3])
    const alive = sessions.length > 0 ? results.at(-1).map(({ session }: { session: string }) => session) : []
    const surroundings = await surroundingsOf(run, results[2][0], this.#neighbours)
    const last = lastStepOf(row)
    const { mailbox } = this.#neighbours
    if (last.by !== undefined && last.by !== mailbox.process) await mailbox.takeAlong(run)
    const nowMs = Math.max(surroundings.nowMs, last.atMs)
    return { row, shard, loaded, alive: new Set(alive), ...surroundings, nowMs }
  }

  /** The new row is locked by this transaction. Somebody may have been quicker: then theirs is. */
  async #create(run: Run, { namespace, resource }: Address): Promise<ResourceRow> {
    const results = await run(
      new Packet()
        .add('INSERT IGNORE INTO baton_resources (namespace, resource) VALUES (?, ?)', namespace, resource)
        .add(
          'SELECT fence, state FROM baton_resources WHERE namespace = ? AND resource = ? FOR UPDATE',
          namespace,
          resource,
        ),
    )
    return results[1][0]
  }

  #take(address: Address, locked: Locked, commands: readonly Command[]) {
    const resource = resourceFromRow(locked.row, address, locked.loaded)
    const waitersBefore = resource.waiters.size
    const places = new SessionPlaces(resource)
    const context = contextOf(address, locked)
    const taken = commands.map((command): TakenStep => {
      if (isAcquire(command) && command.session !== undefined && !locked.alive.has(command.session))
        return { command, reply: { status: 'refused', code: 'session-lost' }, events: [] }
      return { command, ...step(resource, command, context) }
    })
    return { resource, places, waitersBefore, taken }
  }

  async #keep(run: Run, address: Address, taken: Locked & Taken): Promise<Batch> {
    const { resource, nowMs, steps, hearers } = taken
    const events = steps.flatMap((each) => each.events)
    const ring = await this.#neighbours.mailbox.concerned(run, events, hearers)
    const letter: Letter = { ...address, atMs: nowMs, dueAtMs: dueOf(resource), events }
    const rest = await save(run, {
      ...taken,
      by: this.#neighbours.mailbox.process,
      mail: ring.length > 0 ? { to: ring, body: JSON.stringify(letter) } : undefined,
      history: this.#recordHistory ? steps : [],
    })
    await commit(run, rest)
    return { letter, steps, ring, waiting: resource.waiters.size - taken.waitersBefore }
  }
}

interface Taken {
  readonly resource: ResourceInRows
  readonly places: SessionPlaces
  readonly waitersBefore: number
  readonly commands: readonly Command[]
  readonly steps: readonly TakenStep[]
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
