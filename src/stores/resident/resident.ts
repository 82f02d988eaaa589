import {
  type Command,
  type Context,
  EDITION,
  type Event,
  type Facts,
  policyOf,
  type Refused,
  type Reply,
  type ReplyTo,
  type Resource,
  type Step,
  step,
} from '../../core/index.ts'
import type {
  Address,
  AskAt,
  Counts,
  ListQuery,
  Page,
  Place,
  SessionReply,
  SessionRequest,
  VersionedPolicy,
} from '../store.ts'
import { listOf } from './listing.ts'
import { ResidentSessions } from './sessions.ts'
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
  ended?(session: string): void
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
  policy: VersionedPolicy
  /** Of the rules: an older one while what was done under it is done again. */
  edition = EDITION
  journal: Journal | undefined
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
    const slot = this.shards.get(address)
    if (slot === undefined) return undefined
    if ((this.shards.deadlineMs(slot) ?? Infinity) > nowMs) return this.shards.resourceOf(slot)
    this.#take(address, { command: { type: 'expire' }, nowMs })
    const after = this.shards.get(address)
    return after && this.shards.resourceOf(after)
  }

  list(query: ListQuery): Promise<Page> {
    return listOf(this.shards, query)
  }

  openSession(request: SessionRequest, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    if (!this.sessions.isAlive(request.session)) this.journal?.opened?.(request)
    return this.sessions.open(request, nowMs)
  }

  renewSession(session: string, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    return this.sessions.renew(session, nowMs)
  }

  /** Closed by its client: what hung off it was left. */
  closeSession(session: string, nowMs: number): void {
    this.#endDueSessions(nowMs)
    this.#endSession(session, 'leave', nowMs)
  }

  places(session: string): readonly Place[] | undefined {
    return this.sessions.places(session)
  }

  sweep(limit: number, nowMs: number): void {
    this.#endDueSessions(nowMs)
    for (let count = 0; count < limit; count++) {
      const slot = this.shards.due(nowMs)
      if (!slot) return
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
    for (const slot of this.shards.active()) {
      const { grants, waiters, places } = this.shards.holdings(slot)
      this.#grants += grants
      this.#waiters += waiters
      this.sessions.follow(slot, { gained: places, lost: [] })
    }
  }

  nextDeadlineMs(): number | undefined {
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
      sessionAlive: session === undefined || this.sessions.isAlive(session),
      edition: this.edition,
      nextDeadlineMs,
    })
    this.#grants += resource.grants.size - grants
    this.#waiters += resource.waiters.size - waiters
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
    const { reply, events } = this.run(address, taking)
    if (!this.journal) return reply
    const { command, facts, nowMs } = taking
    const { namespace, resource } = address
    if (facts) this.journal.ran({ namespace, resource, nowMs, command, facts, reply, events })
    else this.journal.ran({ namespace, resource, nowMs, command, reply, events })
    return reply
  }

  #endDueSessions(nowMs: number): void {
    for (let id = this.sessions.due(nowMs); id !== undefined; id = this.sessions.due(nowMs))
      this.#endSession(id, 'session-lost', nowMs)
  }

  #endSession(session: string, type: 'leave' | 'session-lost', nowMs: number): void {
    if (!this.sessions.isAlive(session)) return
    this.journal?.ended?.(session)
    for (const place of this.sessions.end(session)) {
      const { operation, node, owner } = place
      this.#take(place, { command: { type, session, operation, node, owner }, nowMs })
    }
  }
}
