import {
  type Context,
  type Event,
  type PlaceChanges,
  policyOf,
  type SessionPlace,
  type Step,
  step,
} from '../../core/index.ts'
import type { Address } from '../store.ts'
import { ringing } from './bell.ts'
import type { Connections } from './connections.ts'
import { isConflict, isNoBell, unknownOutcome } from './failures.ts'
import { type Loading, load } from './load.ts'
import { NotLoaded } from './loaded.ts'
import { type Job, type Locked, lock, lockFree, type Taking } from './lock.ts'
import type { Letter } from './mailbox.ts'
import { Packet, type Run } from './packet.ts'
import { dueOf, type Loaded, type ResourceInRows, resourceFromRow } from './resource-row.ts'
import { type Saving, save, type TakenStep } from './save.ts'
import type { Neighbours } from './surroundings.ts'

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

  async run({ address, takings, endMs }: Job): Promise<Batch> {
    const commands = takings.map(({ command }) => command)
    return this.#connections.transaction(async (run) => {
      const locked = await lock(run, address, { commands, mode: 'FOR UPDATE', neighbours: this.#neighbours })
      const taken = await loadedFor(run, { ...address, ...locked, commands }, () => take(address, locked, takings))
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
  #withoutMore({ address, takings }: Job, locked: Locked | undefined): Kept | undefined {
    if (!locked) return undefined
    try {
      const taken = take(address, locked, takings)
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
    { names = [], view }: Look<Result>,
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
        const context = contextOf(address, locked)
        const { events } = step(resource, { type: 'expire' }, context)
        const isDue = events.length > 0
        return { isDue, result: locked.row.state === null || isDue ? undefined : view(resource, context) }
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
    const dueAtMs = dueOf(resource, taken.nextActMs)
    const letter: Letter = { ...address, atMs: nowMs, dueAtMs, events: eventsOf(steps) }
    const saving = {
      ...taken,
      dueAtMs,
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
  readonly places: PlaceChanges
  readonly waitersBefore: number
  readonly steps: readonly TakenStep[]
  readonly nextActMs: number | undefined
}

export interface Look<Result> {
  /** The names of the asks that it will want to know of. */
  readonly names?: readonly string[]
  readonly view: (resource: ResourceInRows, context: Context) => Result
}

/** The steps themselves, on a resource as it was read. Nothing outside of that is changed. */
function take(address: Address, locked: Locked, takings: readonly Taking[]): Taken {
  const resource = resourceFromRow(locked.row, address, locked.loaded)
  const waitersBefore = resource.waiters.size
  const context = contextOf(address, locked)
  const steps = takings.map((taking) => {
    const { command, facts } = taking
    const session = command.type === 'acquire' ? command.session : undefined
    const sessionAlive = session === undefined || locked.alive.has(session)
    return { ...taking, ...step(resource, command, { ...facts, ...context, sessionAlive }) }
  })
  return { resource, places: changedPlaces(steps), waitersBefore, steps, nextActMs: steps.at(-1)!.nextActMs }
}

/** What all steps together have changed of what hangs off sessions: the last of them counts. */
function changedPlaces(steps: readonly (Taking & Pick<Step, 'places'>)[]): PlaceChanges {
  const last = new Map<string, { readonly place: SessionPlace; readonly isGained: boolean }>()
  const set = (place: SessionPlace, isGained: boolean) => last.set(nameOf(place), { place, isGained })
  for (const { command, places } of steps) {
    for (const place of places.lost) set(place, false)
    for (const place of places.gained) set(place, true)
    // What a session has given up is gone for good, whatever its row said.
    if (command.type === 'session-lost' || command.type === 'leave')
      set({ ...command, node: command.node ?? '' }, false)
  }
  const all = [...last.values()]
  const placesOf = (isGained: boolean) => all.filter((each) => each.isGained === isGained).map(({ place }) => place)
  return { gained: placesOf(true), lost: placesOf(false) }
}

function nameOf({ session, operation, node, owner }: SessionPlace): string {
  return JSON.stringify([session, operation, node, owner])
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

function contextOf({ namespace }: Address, { nowMs, policy, fenceFloor }: Locked): Context {
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
