import {
  type Command,
  type Context,
  EDITION,
  type Event,
  type Facts,
  placesOf,
  policyOf,
  type Refused,
  type Reply,
  type ReplyTo,
  type Resource,
  type Step,
  step,
} from '../../core/index.ts'
import {
  type Address,
  type AskAt,
  type Clock,
  type Counts,
  type ListQuery,
  type Pace,
  type Page,
  type Place,
  SESSION_LOST,
  type SessionReply,
  type SessionRequest,
  type VersionedPolicy,
} from '../store.ts'
import { listOf } from './listing.ts'
import { QueueDepths } from './queue-depths.ts'
import { type EndingPlace, ResidentSessions, type SessionEnd } from './sessions.ts'
import { type Dormancy, Shards } from './shards.ts'
import type { Slot } from './slot.ts'

/** A command that was run on a resource, when, and what came of it. */
export interface StepTaken extends Address {
  readonly nowMs: number
  readonly command: Command
  readonly facts?: Facts | undefined
  readonly reply: Reply
  readonly events: readonly Event[]
}

/** A command, and all that the outside says of it. */
interface Taking<C extends Command> {
  readonly command: C
  readonly facts?: Facts | undefined
  readonly nowMs: number
}

/** Told of everything that changes, in order and at once: whoever keeps it or carries it on. */
interface Journal {
  ran(step: StepTaken): void
  opened?(session: SessionRequest): void
  ended?(session: string, how: SessionEnd): void
}

interface ResidentOptions {
  readonly policy: VersionedPolicy
  readonly dormancy?: Dormancy
}

/**
 * The whole state of a store that lives in one process: resources, sessions, policy. It is told the time, and the same
 * changes at the same times bring it to the same state. JavaScript runs one step at a time, so every step is atomic.
 */
export class Resident {
  readonly shards: Shards
  readonly sessions = new ResidentSessions()
  readonly queues = new QueueDepths()
  policy: VersionedPolicy
  /** Of the rules: an older one while what was done under it is done again. */
  edition = EDITION
  journal: Journal | undefined
  /** Nothing runs out now (`Clock.onCatchUp`). */
  spares = false
  /** Called before a resource changes, for whoever copies it just then. */
  beforeChange: ((slot: Slot) => void) | undefined
  #grants = 0
  #waiters = 0

  constructor({ policy, dormancy }: ResidentOptions) {
    this.policy = policy
    this.shards = new Shards({ dormancy })
  }

  step<C extends Command>(address: Address, taking: Taking<C>): ReplyTo<C> | Refused {
    this.#endDueSessions(taking.nowMs)
    if (this.sessions.isEnding) this.#endPlacesAt(this.shards.get(address), taking.nowMs)
    return this.#take(address, taking)
  }

  acknowledge(ask: AskAt, nowMs: number): void {
    const { operation, node, owner, hold } = ask
    const slot = this.shards.get(ask)
    // Of most there is nothing to forget any more, and then there is nothing to be done or to be written down.
    if (!slot || slot.live?.released.size === 0) return
    this.step(slot, { command: { type: 'acknowledge', operation, node, owner, hold }, nowMs })
  }

  /** The resource as it is at this moment, its due deadlines applied. */
  read(address: Address, nowMs: number): Resource | undefined {
    this.#endDueSessions(nowMs)
    if (this.sessions.isEnding) this.#endPlacesAt(this.shards.get(address), nowMs)
    const slot = this.shards.get(address)
    if (slot === undefined) return undefined
    if ((this.shards.deadlineMs(slot) ?? Infinity) > nowMs || this.spares) return this.shards.resourceOf(slot)
    this.#take(address, { command: { type: 'expire' }, nowMs })
    const after = this.shards.get(address)
    return after && this.shards.resourceOf(after)
  }

  list(query: ListQuery, { clock, pace }: { readonly clock: Clock; readonly pace?: Pace | undefined }): Promise<Page> {
    const settle = (name: string) => {
      if (this.sessions.isEnding) this.#endPlacesAt(this.shards.peek(name), clock.nowMs())
    }
    return listOf(this.shards, query, { pace, settle, leaseOf: (session) => this.sessions.leaseOf(session) })
  }

  openSession(request: SessionRequest, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    if (!this.sessions.isAlive(request.session)) {
      // What hangs off its earlier life has not all gone yet.
      if (this.sessions.isEnding && this.sessions.isEndingNow(request.session)) return SESSION_LOST
      this.journal?.opened?.(request)
    }
    return this.sessions.open(request, nowMs)
  }

  renewSession(session: string, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    return this.sessions.renew(session, nowMs)
  }

  /** Closed by its client: what hung off it was left. */
  closeSession(session: string, nowMs: number): void {
    this.#endDueSessions(nowMs)
    this.#endSession(session, 'leave')
    this.#endPlaces(nowMs)
  }

  places(session: string): readonly Place[] | undefined {
    return this.sessions.places(session)
  }

  sweep(limit: number, nowMs: number): void {
    if (this.sessions.isEnding) this.#endPlaces(nowMs)
    if (this.spares) return
    this.#endDueSessions(nowMs)
    for (let count = 0; count < limit; count++) {
      const slot = this.shards.due(nowMs)
      if (!slot) return
      if (this.sessions.isEnding) this.#endPlacesAt(slot, nowMs)
      this.#take(slot, { command: { type: 'expire' }, nowMs })
    }
  }

  /** After the store was away: everybody who was alive is alive for one more ttl. */
  recover(nowMs: number): void {
    this.sessions.renewAll(nowMs)
    for (const slot of this.shards.active()) {
      if (!slot.runsOut) continue
      const slept = slot.live === undefined
      this.#take(slot, { command: { type: 'recover' }, nowMs })
      // There may be very many of them, and none was asked for.
      if (slept) this.shards.putToSleep(slot)
    }
  }

  /** Counts anew, and finds the places of sessions, after resources were read from elsewhere. */
  takeStock(): void {
    this.#grants = 0
    this.#waiters = 0
    this.queues.clear()
    for (const slot of this.shards.active()) {
      const resource = this.shards.resourceOf(slot)
      this.#grants += resource.grants.size
      this.#waiters += resource.waiters.size
      this.queues.found(resource)
      this.sessions.found(slot, placesOf(resource))
    }
  }

  nextDeadlineMs(): number | undefined {
    if (this.sessions.isEnding) return AT_ONCE
    const ofSessionsMs = this.sessions.nextDeadlineMs()
    const nextMs = this.shards.nextDeadlineMs()
    return ofSessionsMs === undefined ? nextMs : Math.min(ofSessionsMs, nextMs ?? Infinity)
  }

  counts(): Counts {
    return { resources: this.shards.size, grants: this.#grants, waiters: this.#waiters, sessions: this.sessions.size }
  }

  /** One step of one resource and what follows from it here, told to nobody: also how a journal is played again. */
  run<C extends Command>(address: Address, { command, facts, nowMs }: Taking<C>): Step<C> {
    const slot = this.shards.getOrCreate(address)
    this.beforeChange?.(slot)
    // What was written down may be of an older version, which had other deadlines.
    const nextDeadlineMs = slot.live && (this.shards.deadlineMs(slot) ?? Infinity)
    const resource = this.shards.wake(slot)
    const grants = resource.grants.size
    const waiters = resource.waiters.size
    const session = command.type === 'acquire' ? command.session : undefined
    const taken = step(resource, command, {
      nowMs,
      policy: policyOf(this.policy.policy, slot.namespace),
      fenceFloor: this.shards.fenceFloorOf(slot),
      actsFor: facts?.actsFor,
      mayQueue: facts?.mayQueue,
      spares: facts?.spares,
      hasRoom: facts?.hasRoom,
      mayReference: facts?.mayReference,
      sessionAlive: session === undefined || this.sessions.isAlive(session),
      edition: this.edition,
      nextDeadlineMs,
    })
    this.#grants += resource.grants.size - grants
    this.#waiters += resource.waiters.size - waiters
    if (waiters > 0 || resource.waiters.size > 0) this.queues.follow(slot.namespace, taken.events)
    this.sessions.follow(slot, taken.places)
    this.shards.settle(slot, taken.nextDeadlineMs)
    return taken
  }

  /** A look at a resource as it is at this moment. */
  inspect<Result>(
    address: Address,
    nowMs: number,
    view: (resource: Resource, context: Context) => Result,
  ): Result | undefined {
    const resource = this.read(address, nowMs)
    return resource && view(resource, this.#context(address, nowMs))
  }

  #context({ namespace, resource }: Address, nowMs: number): Context {
    const fenceFloor = this.shards.fenceFloor(resource)
    return { nowMs, policy: policyOf(this.policy.policy, namespace), fenceFloor }
  }

  #take<C extends Command>(address: Address, taking: Taking<C>): ReplyTo<C> | Refused {
    if (this.spares && !taking.facts?.spares)
      return this.#take(address, { ...taking, facts: { ...taking.facts, spares: true } })
    const { reply, events } = this.run(address, taking)
    if (!this.journal) return reply
    const { command, facts, nowMs } = taking
    const { namespace, resource } = address
    if (facts) this.journal.ran({ namespace, resource, nowMs, command, facts, reply, events })
    else this.journal.ran({ namespace, resource, nowMs, command, reply, events })
    return reply
  }

  #endDueSessions(nowMs: number): void {
    if (this.spares) return
    let id = this.sessions.due(nowMs)
    if (id === undefined) return
    for (; id !== undefined; id = this.sessions.due(nowMs)) this.#endSession(id, 'session-lost')
    this.#endPlaces(nowMs)
  }

  #endSession(session: string, how: SessionEnd): void {
    if (!this.sessions.isAlive(session)) return
    this.journal?.ended?.(session, how)
    this.sessions.end(session, how)
  }

  /** A few of those that sessions have left behind; sweeps go on with the others, and whoever asks for one finds it ended. */
  #endPlaces(nowMs: number): void {
    for (const place of this.sessions.ending(PLACES_TOGETHER)) this.#endPlace(place, nowMs)
  }

  #endPlacesAt(slot: Slot | undefined, nowMs: number): void {
    if (slot) for (const place of this.sessions.endingAt(slot)) this.#endPlace(place, nowMs)
  }

  #endPlace(place: EndingPlace, nowMs: number): void {
    const { at, how: type, session, operation, node, owner } = place
    this.#take(at, { command: { type, session, operation, node, owner }, nowMs })
    this.sessions.ended(place)
  }
}

/** So many places of ended sessions are taken away in one turn: others have theirs in between. */
const PLACES_TOGETHER = 200

const AT_ONCE = 0
