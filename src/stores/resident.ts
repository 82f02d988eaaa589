import {
  type Acquire,
  type Command,
  type Event,
  policyOf,
  type Reply,
  type ReplyTo,
  type Resource,
  type Step,
  step,
} from '../core/index.ts'
import { listOf } from './listing.ts'
import { Sessions } from './sessions.ts'
import { addressOf, type Dormancy, Shards } from './shards.ts'
import type { Slot } from './slot.ts'
import type {
  Address,
  Counts,
  ListQuery,
  Page,
  Place,
  SessionRefusal,
  SessionReply,
  SessionRequest,
  VersionedPolicy,
} from './store.ts'

export interface StepTaken extends Address {
  readonly nowMs: number
  readonly command: Command
  readonly reply: Reply
  readonly events: readonly Event[]
}

/** Told of everything that changes, in order and at once: whoever keeps it or carries it on. */
export interface Journal {
  ran(step: StepTaken): void
  opened?(session: SessionRequest): void
  ended?(session: string): void
}

export interface ResidentOptions {
  readonly policy: VersionedPolicy
  readonly dormancy?: Dormancy
}

/**
 * The whole state of a store that lives in one process: resources, sessions, policy. It is told the time, and the same
 * changes at the same times bring it to the same state. JavaScript runs one step at a time, so every step is atomic.
 */
export class Resident {
  readonly shards: Shards
  readonly sessions = new Sessions()
  policy: VersionedPolicy
  journal: Journal | undefined
  /** Called before a resource changes, for whoever copies it just then. */
  beforeChange: ((slot: Slot) => void) | undefined
  #grants = 0
  #waiters = 0

  constructor({ policy, dormancy }: ResidentOptions) {
    this.policy = policy
    this.shards = new Shards({ dormancy })
  }

  step<C extends Command>(address: Address, command: C, nowMs: number): ReplyTo<C> | SessionRefusal {
    this.#endDueSessions(nowMs)
    if (command.type === 'acquire' && command.session !== undefined && !this.sessions.isAlive(command.session)) {
      return { status: 'refused', code: 'session-lost' }
    }
    return this.#take(address, command, nowMs)
  }

  /** The resource as it is at this moment, its due deadlines applied. */
  read(address: Address, nowMs: number): Resource | undefined {
    this.#endDueSessions(nowMs)
    const slot = this.shards.get(address)
    if (slot === undefined) return undefined
    if ((this.shards.deadlineMs(slot, address.resource) ?? Infinity) > nowMs) return this.shards.look(slot)
    this.#take(address, { type: 'expire' }, nowMs)
    const settled = this.shards.get(address)
    return settled && this.shards.look(settled)
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
      this.#take(addressOf(slot.name), { type: 'expire' }, nowMs)
    }
  }

  /** After the store was away: everybody who was alive is alive for one more ttl. */
  recover(nowMs: number): void {
    this.sessions.renewAll(nowMs)
    for (const slot of this.#active()) {
      if (!slot.runsOut) continue
      const slept = slot.live === undefined
      this.#take(addressOf(slot.name), { type: 'recover' }, nowMs)
      // There may be very many of them, and none was asked for.
      if (slept) this.shards.rest(slot)
    }
  }

  /** Counts anew, and finds the places of sessions, after resources were read from elsewhere. */
  takeStock(): void {
    this.#grants = 0
    this.#waiters = 0
    for (const slot of this.#active()) {
      const { grants, waiters, places } = this.shards.holdings(slot)
      this.#grants += grants
      this.#waiters += waiters
      const address = addressOf(slot.name)
      for (const { session, ...place } of places) this.sessions.adopt({ ...address, ...place }, session)
    }
  }

  nextDeadlineMs(): number | undefined {
    const nextMs = Math.min(this.sessions.nextDeadlineMs() ?? Infinity, this.shards.nextDeadlineMs() ?? Infinity)
    return nextMs === Infinity ? undefined : nextMs
  }

  counts(): Counts {
    return { resources: this.shards.size, grants: this.#grants, waiters: this.#waiters, sessions: this.sessions.size }
  }

  /** One step of one resource and what follows from it here, told to nobody: also how a journal is played again. */
  run<C extends Command>(address: Address, command: C, nowMs: number): Step<C> {
    const slot = this.shards.getOrCreate(address)
    this.beforeChange?.(slot)
    const resource = this.shards.wake(slot)
    const before = { grants: resource.grants.size, waiters: resource.waiters.size }
    const session = command.type === 'acquire' ? sessionOf(resource, command) : undefined
    const taken = step(resource, command, {
      nowMs,
      policy: policyOf(this.policy.policy, address.namespace),
      fenceFloor: this.shards.fenceFloor(address.resource),
    })
    this.#grants += resource.grants.size - before.grants
    this.#waiters += resource.waiters.size - before.waiters
    if (command.type === 'acquire') {
      const { operation, owner } = command
      this.sessions.touch(resource, { operation, owner, session: command.session })
      // It may have hung off another one before.
      if (session !== command.session) this.sessions.touch(resource, { operation, owner, session })
    }
    this.sessions.follow(resource, taken.events)
    this.shards.settle(slot)
    return taken
  }

  /**
   * In the order in which they were read. What becomes idle leaves its fence to others, so the order matters, and this one
   * is the same whenever the same is read.
   */
  #active(): readonly Slot[] {
    return [...this.shards.slots()].filter(({ isActive }) => isActive)
  }

  #take<C extends Command>(address: Address, command: C, nowMs: number): ReplyTo<C> {
    const { reply, events } = this.run(address, command, nowMs)
    const { namespace, resource } = address
    this.journal?.ran({ namespace, resource, nowMs, command, reply, events })
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
      const { operation, owner } = place
      this.#take(place, { type, session, operation, owner }, nowMs)
    }
  }
}

/** The session that an ask hangs off so far. */
function sessionOf(resource: Resource, { operation, owner, hold }: Acquire): string | undefined {
  const grant = resource.grants.get(operation)
  if (grant?.owner === owner) return (grant.holds.get(hold) ?? grant.unclaimedLease)?.session
  return resource.waiters.find(operation, owner)?.lease.session
}
