import {
  type AddressedEvent,
  type Command,
  type Context,
  type Facts,
  placesOf,
  policyOf,
  type Refused,
  type Reply,
  type ReplyTo,
  type Resource,
  step,
} from '@baton-lock/core'
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
import { Shards } from './shards.ts'
import type { Slot } from './slot.ts'

/** A command that was run on a resource, with its time and its results. */
export interface StepTaken extends Address {
  readonly nowMs: number
  readonly command: Command
  readonly facts?: Facts | undefined
  readonly reply: Reply
  readonly events: readonly AddressedEvent[]
}

/** A command with its context. */
interface Taking<C extends Command> {
  readonly command: C
  readonly facts?: Facts | undefined
  readonly nowMs: number
}

/** Called with every change, in order, within the step. */
interface Journal {
  ran(step: StepTaken): void
  opened?(session: SessionRequest): void
  ended?(session: string, how: SessionEnd): void
}

interface ResidentOptions {
  readonly policy: VersionedPolicy
  /** About so many resources that have neither grants nor waiters stay ready for steps; the others are kept as text. */
  readonly liveLimit?: number | undefined
}

/**
 * The state of a store that lives in one process: resources, sessions, policy. It has no clock: the same commands at the same
 * times lead to the same state. JavaScript runs one step at a time, so every step is atomic.
 */
export class Resident {
  readonly shards: Shards
  readonly sessions = new ResidentSessions()
  readonly queues = new QueueDepths()
  policy: VersionedPolicy
  journal: Journal | undefined
  /** While true, nothing expires (`Clock.onCatchUp`). */
  spares = false
  /** Called before a resource changes, for a snapshot that is being written. */
  beforeChange: ((slot: Slot) => void) | undefined
  #grants = 0
  #waiters = 0

  constructor({ policy, liveLimit }: ResidentOptions) {
    this.policy = policy
    this.shards = new Shards({ liveLimit })
  }

  step<C extends Command>(address: Address, taking: Taking<C>): ReplyTo<C> | Refused {
    this.#endDueSessions(taking.nowMs)
    if (this.sessions.isEnding) this.#endPlacesAt(this.shards.get(address), taking.nowMs)
    return this.run(address, taking)
  }

  acknowledge(ask: AskAt, nowMs: number): void {
    const { operation, node, owner, hold } = ask
    const slot = this.shards.get(ask)
    // Most asks are not remembered any more. Then there is no step to take, and none to write to a log.
    if (!slot || slot.live?.released.size === 0) return
    this.step(slot, { command: { type: 'acknowledge', operation, node, owner, hold }, nowMs })
  }

  /** The resource after its due deadlines were applied. */
  read(address: Address, nowMs: number): Resource | undefined {
    this.#endDueSessions(nowMs)
    if (this.sessions.isEnding) this.#endPlacesAt(this.shards.get(address), nowMs)
    const slot = this.shards.get(address)
    if (slot === undefined) return undefined
    if ((this.shards.deadlineMs(slot) ?? Infinity) > nowMs || this.spares) return slot.read()
    this.run(address, { command: { type: 'expire' }, nowMs })
    return this.shards.get(address)?.read()
  }

  list(query: ListQuery, { clock, pace }: { readonly clock: Clock; readonly pace?: Pace | undefined }): Promise<Page> {
    const settle = (name: string) => {
      if (this.sessions.isEnding) this.#endPlacesAt(this.shards.named(name), clock.nowMs())
    }
    return listOf(this.shards, query, { pace, settle, leaseOf: (session) => this.sessions.leaseOf(session) })
  }

  openSession(request: SessionRequest, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    if (!this.sessions.isAlive(request.session)) {
      // A session with this id has ended, and not all of its places are removed yet.
      if (this.sessions.isEnding && this.sessions.isEndingNow(request.session)) return SESSION_LOST
      this.journal?.opened?.(request)
    }
    return this.sessions.open(request, nowMs)
  }

  renewSession(session: string, nowMs: number): SessionReply {
    this.#endDueSessions(nowMs)
    return this.sessions.renew(session, nowMs)
  }

  /** Closed by its client: its places are left, not lost. */
  closeSession(session: string, nowMs: number): void {
    this.#endDueSessions(nowMs)
    this.#endSession(session, 'leave')
    this.#endPlaces(nowMs)
  }

  places(session: string, limit?: number): readonly Place[] | undefined {
    return this.sessions.places(session, limit)
  }

  sweep(limit: number, nowMs: number): void {
    if (this.sessions.isEnding) this.#endPlaces(nowMs)
    if (this.spares) return
    this.#endDueSessions(nowMs)
    for (let count = 0; count < limit; count++) {
      const slot = this.shards.due(nowMs)
      if (!slot) return
      if (this.sessions.isEnding) this.#endPlacesAt(slot, nowMs)
      this.run(slot, { command: { type: 'expire' }, nowMs })
    }
  }

  /** After a restart: every session and lease that was alive gets its whole ttl once more. */
  recover(nowMs: number): void {
    this.sessions.renewAll(nowMs)
    for (const slot of this.shards.active()) {
      if (runsOut(slot.read())) this.run(slot, { command: { type: 'recover' }, nowMs })
    }
  }

  /** Counts everything, and finds the places of sessions, after a snapshot and logs were read. */
  takeStock(): void {
    this.#grants = 0
    this.#waiters = 0
    this.queues.clear()
    for (const slot of this.shards.active()) {
      const resource = slot.read()
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

  /** One step of one resource. The replay of a log calls it too, before there is a journal. */
  run<C extends Command>(address: Address, { command, facts: given, nowMs }: Taking<C>): ReplyTo<C> | Refused {
    const facts = this.spares ? { ...given, spares: true } : given
    const slot = this.shards.getOrCreate(address)
    this.beforeChange?.(slot)
    const nextDeadlineMs = this.shards.deadlineMs(slot) ?? Infinity
    const resource = this.shards.use(slot)
    const grants = resource.grants.size
    const waiters = resource.waiters.size
    const session = command.type === 'acquire' ? command.session : undefined
    const { reply, events, places, ...taken } = step(resource, command, {
      nowMs,
      policy: policyOf(this.policy.policy, slot.namespace),
      fenceFloor: this.shards.fenceFloorOf(slot),
      actsFor: facts?.actsFor,
      mayQueue: facts?.mayQueue,
      spares: facts?.spares,
      hasRoom: facts?.hasRoom,
      mayReference: facts?.mayReference,
      sessionAlive: session === undefined || this.sessions.isAlive(session),
      nextDeadlineMs,
    })
    this.#grants += resource.grants.size - grants
    this.#waiters += resource.waiters.size - waiters
    if (waiters > 0 || resource.waiters.size > 0) this.queues.follow(events)
    this.sessions.follow(slot, places)
    this.shards.settle(slot, taken.nextDeadlineMs)
    const { namespace, resource: id } = address
    this.journal?.ran({ namespace, resource: id, nowMs, command, ...(facts && { facts }), reply, events })
    return reply
  }

  /** A view of a resource after its due deadlines were applied. */
  inspect<Result>(
    address: Address,
    nowMs: number,
    view: (resource: Resource, context: Context) => Result,
  ): Result | undefined {
    const resource = this.read(address, nowMs)
    const slot = this.shards.get(address)
    if (!resource || !slot) return undefined
    const policy = policyOf(this.policy.policy, address.namespace)
    return view(resource, { nowMs, policy, fenceFloor: this.shards.fenceFloorOf(slot) })
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

  /** Some places of ended sessions. Sweeps continue with the others, and a step on a resource begins with those that are on it. */
  #endPlaces(nowMs: number): void {
    for (const place of this.sessions.ending(PLACES_TOGETHER)) this.#endPlace(place, nowMs)
  }

  #endPlacesAt(slot: Slot | undefined, nowMs: number): void {
    if (slot) for (const place of this.sessions.endingAt(slot)) this.#endPlace(place, nowMs)
  }

  #endPlace(place: EndingPlace, nowMs: number): void {
    const { at, how, session, operation, node, owner } = place
    const lost = { session, operation, node, owner }
    const command =
      how === 'leave' ? ({ type: 'leave', ...lost, closed: true } as const) : ({ type: how, ...lost } as const)
    this.run(at, { command, nowMs })
    this.sessions.ended(place)
  }
}

/** How many places of ended sessions are removed in one turn of the event loop. */
const PLACES_TOGETHER = 200

const AT_ONCE = 0

/** Something of it ends by itself, without the end of a session: a lease of its own, a grant to be claimed, a waiter's limit. */
function runsOut({ grants, waiters }: Resource): boolean {
  if (waiters.size > 0) return true
  for (const { claimByMs, holds } of grants.values()) {
    if (claimByMs !== undefined || holds.nextMs() < Infinity) return true
  }
  return false
}
