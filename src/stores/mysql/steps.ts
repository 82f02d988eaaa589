import { type Command, type Event, policyOf, type Reply, step } from '../../core/index.ts'
import type { Address, SessionRefusal } from '../store.ts'
import { ringing } from './bell.ts'
import type { Connections } from './connections.ts'
import { isConflict, isNoBell, unknownOutcome } from './failures.ts'
import { type Loading, load } from './load.ts'
import { NotLoaded } from './loaded.ts'
import { isAcquire, type Job, type Locked, lock, lockFree } from './lock.ts'
import type { Letter } from './mailbox.ts'
import { Packet, type Run } from './packet.ts'
import { dueOf, type Loaded, type ResourceInRows, resourceFromRow } from './resource-row.ts'
import { type Saving, save } from './save.ts'
import { SessionPlaces } from './session-places.ts'
import type { Neighbours } from './surroundings.ts'

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
  /** Somebody waits. */
  readonly isCrowded: boolean
  /** Other processes whose mail has come, and that are still to be rung at. */
  readonly ring: readonly string[]
}

/** A step that wants more than this one thing after another is lost in a loop. */
const LOADS = 60

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
      const locked = await lock(run, address, { commands, mode: 'FOR UPDATE', neighbours: this.#neighbours })
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
        const locked = await lockFree(run, jobs, this.#neighbours)
        const kept = jobs.map((job, index) => this.#withoutMore(job, locked[index]))
        const savings = kept.flatMap((each) => each?.saving ?? [])
        if (savings.length === 0) await run(new Packet().add('ROLLBACK'))
        else await commit(run, await save(run, savings))
        return kept.map((each) => each?.batch)
      },
      Math.min(...jobs.map(({ endMs }) => endMs)),
    )
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
      const locked = await lock(run, address, {
        commands: [],
        names,
        mode: 'LOCK IN SHARE MODE',
        neighbours: this.#neighbours,
      })
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

  async #keep(run: Run, address: Address, taken: Locked & Taken): Promise<Batch> {
    const { mailbox } = this.#neighbours
    const ring = await mailbox.concerned(run, eventsOf(taken.steps), taken)
    const kept = this.#kept(address, taken, ring)
    const rung = await commit(run, await save(run, [kept.saving]), ring)
    return { ...kept.batch, ring: ring.filter((process) => !rung.has(process)) }
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

/**
 * Rings with the same packet at those whose bells are known here, and says at whom. Whatever goes wrong leaves open
 * whether it was done, unless the engine says that it gave way, or only a bell was not there any more.
 */
async function commit(run: Run, packet: Packet, ring: readonly string[] = []): Promise<ReadonlySet<string>> {
  const known = ring.filter((process) => run.bells.has(process))
  packet.add('COMMIT')
  for (const process of known) packet.add(ringing(run.bells.get(process)!))
  try {
    await run(packet)
    return new Set(known)
  } catch (error) {
    if (!isNoBell(error)) throw isConflict(error) ? error : unknownOutcome(error)
    for (const process of known) run.bells.delete(process)
    return new Set()
  }
}
