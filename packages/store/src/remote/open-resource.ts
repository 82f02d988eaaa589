import {
  type Acquire,
  type AddressedEvent,
  type Command,
  type Context,
  type Facts,
  highestNumber,
  isIdle,
  type PlaceChanges,
  type Policy,
  policyOf,
  type SessionPlace,
  type Step,
  step,
} from '@baton-lock/core'
import type { Address } from '../store.ts'
import type { View } from '../views.ts'
import type { Change, Opened, OpenedResource, Opening, StepRecord, Transaction } from './backend.ts'
import { Document, type ResourceInParts } from './document.ts'
import { sessionsIn } from './letter.ts'
import { NotLoaded, Parts, widened } from './parts.ts'

/** A command, and what its caller knows of whoever gave it. */
export interface GivenCommand {
  readonly command: Command
  readonly facts?: Facts | undefined
}

export interface Inspected<Result> {
  readonly result: Result | undefined
  /** Something is due on it, and has to be done before one can look. */
  readonly isDue: boolean
}

/** A step that wants more than this one thing after another is lost in a loop. */
const LOADS = 60

/** What steps have come to, before anything of it is written. */
export interface Decided {
  readonly resource: ResourceInParts
  readonly steps: readonly StepRecord[]
  readonly events: readonly AddressedEvent[]
  /** Those that the events are for. */
  readonly sessions: readonly string[]
  readonly places: PlaceChanges
  readonly waitersBefore: number
  readonly nextActMs: number | undefined
}

/** A resource that is open in a transaction. */
export class OpenResource {
  readonly address: Address
  readonly nowMs: number
  /** How far that is behind the clock of the backend. */
  readonly #behindMs: number
  readonly parts = new Parts()
  readonly #document: Document
  readonly #context: Context
  readonly #alive: ReadonlySet<string>

  constructor({ address, parts }: Opening, opened: Opened, policy: Policy, index = 0) {
    const resource: OpenedResource = opened.resources[index]!
    this.address = address
    this.#document = new Document(resource)
    this.#alive = opened.alive
    this.nowMs = Math.max(resource.nowMs, this.#document.atMs)
    const { fenceFloor, clockMs = this.nowMs } = resource
    this.#behindMs = clockMs - this.nowMs
    this.#context = { nowMs: this.nowMs, policy: policyOf(policy, address.namespace), fenceFloor }
    for (const [at, wanted] of parts.entries()) this.parts.add(wanted, resource.parts[at]!)
  }

  /** The steps themselves. Nothing outside of what is returned is changed: they may be decided again. */
  decide(given: readonly GivenCommand[]): Decided {
    const resource = this.#document.resource(this.address, this.parts)
    const waitersBefore = resource.waiters.size
    const steps = given.map((each) => {
      const { command, facts } = each
      const sessionAlive = !isAcquire(command) || command.session === undefined || this.#alive.has(command.session)
      return { ...each, ...step(resource, command, { ...facts, ...this.#context, sessionAlive }) }
    })
    const events = steps.flatMap((each) => each.events)
    const { nextActMs } = steps.at(-1)!
    return {
      resource,
      steps,
      events,
      sessions: sessionsIn(events),
      places: changedPlaces(steps),
      waitersBefore,
      nextActMs,
    }
  }

  inspect<Result>(view: View<Result>): Inspected<Result> {
    const resource = this.#document.resource(this.address, this.parts)
    const { events } = step(resource, { type: 'expire' }, this.#context)
    const isDue = events.length > 0
    return {
      isDue,
      result: isDue || !this.#document.isThere ? undefined : view(resource, this.#context, this.#behindMs),
    }
  }

  /** Does the work with what is read; where it wants more, that is read, and the work done again from the start. */
  async loadedFor<Result>(transaction: Transaction, commands: readonly Command[], work: () => Result): Promise<Result> {
    for (let loads = 0; ; loads++) {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof NotLoaded) || loads === LOADS) throw error
        const wanted = widened(error.wanted, commands)
        this.parts.add(wanted, await transaction.read(this.address, wanted))
      }
    }
  }

  changeOf({ resource, places }: Decided, dueAtMs: number | undefined): Omit<Change, 'sessions' | 'letter' | 'steps'> {
    const memories = (['answer', 'released'] as const).flatMap((kind) => {
      const { changes } = kind === 'answer' ? resource.answers : resource.released
      return changes.map((change) => ({ ...change, kind }))
    })
    const fence = highestNumber(resource)
    return {
      address: this.address,
      nowMs: this.nowMs,
      state: this.#stateOf(resource, dueAtMs),
      fence,
      leavesFence: fence > this.#context.fenceFloor!,
      waiters: resource.waiters.changes,
      memories,
      places,
    }
  }

  #stateOf(resource: ResourceInParts, dueAtMs: number | undefined): Change['state'] {
    if (isIdle(resource)) return 'idle'
    const text = this.#document.textOf(resource, this.nowMs)
    if (text === undefined) return undefined
    const { grants, waiters } = resource
    return { text, grants: grants.size, waiters: waiters.size, queues: waiters.totals.counts, dueAtMs }
  }
}

/** What all steps together have changed of what hangs off sessions: the last of them counts. */
function changedPlaces(steps: readonly (GivenCommand & Pick<Step, 'places'>)[]): PlaceChanges {
  const last = new Map<string, { readonly place: SessionPlace; readonly isGained: boolean }>()
  const set = (place: SessionPlace, isGained: boolean) => last.set(placeName(place), { place, isGained })
  for (const { command, places } of steps) {
    for (const place of places.lost) set(place, false)
    for (const place of places.gained) set(place, true)
    // What a session has given up is gone for good, whatever was written of it.
    if (command.type === 'session-lost' || command.type === 'leave')
      set({ ...command, node: command.node ?? '' }, false)
  }
  const all = [...last.values()]
  const placesOf = (isGained: boolean) => all.filter((each) => each.isGained === isGained).map(({ place }) => place)
  return { gained: placesOf(true), lost: placesOf(false) }
}

function placeName({ session, operation, node, owner }: SessionPlace): string {
  return JSON.stringify([session, operation, node, owner])
}

export function isAcquire(command: Command): command is Acquire {
  return command.type === 'acquire'
}
