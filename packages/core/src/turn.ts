import type { AddressedEvent, Event, Recipient } from './event.ts'
import type { NamespacePolicy } from './policy.ts'
import type { Lease } from './state/lease.ts'
import type { WritableEntries } from './state/small-map.ts'
import type { Grant, Resource, Waiter } from './state/state.ts'

/** What only whoever carries a command knows of the one that gave it. */
export interface Facts {
  /** The nodes that the asker may act for, by their ids or by patterns (`api-*`); absent: all of them. */
  readonly actsFor?: readonly string[] | undefined
  /** False: so many wait in all that nobody else may stand in line. */
  readonly mayQueue?: boolean | undefined
  /** True: nothing runs out by this step, whatever is due, as renewals may have arrived that were not read yet. */
  readonly spares?: boolean | undefined
  /** False: the node of the asker has so many places that it may have no other one. */
  readonly hasRoom?: boolean | undefined
  /** False: it uses so many resources that it may use no other one. */
  readonly mayReference?: boolean | undefined
}

/** What a step is told from outside. */
export interface Context extends Facts {
  readonly nowMs: number
  readonly policy: NamespacePolicy
  /** The store's promise that no grant of this resource had a higher fence than this or the resource's own. */
  readonly fenceFloor: number
  /** False: the session that the command names is not alive. */
  readonly sessionAlive?: boolean | undefined
  /**
   * What the step before this one said of the next deadline, `Infinity` where there is none: until then nothing is looked
   * through for what is due. Absent: not known.
   */
  readonly nextDeadlineMs?: number | undefined
}

/** A grant that a step has changed: for each session that came or went, whether it kept it alive before. */
interface GrantBefore {
  readonly grant: Grant
  readonly sessions: WritableEntries<boolean>
}

/** One step under way: the resource that it may change, and what it has caused so far. */
export class Turn {
  readonly resource: Resource
  readonly nowMs: number
  readonly policy: NamespacePolicy
  readonly fenceFloor: number
  readonly actsFor: readonly string[] | undefined
  readonly mayQueue: boolean
  readonly hasRoom: boolean
  readonly mayReference: boolean
  readonly sessionAlive: boolean
  /** The session whose places this step and others remove: none of its waiters is granted anything meanwhile. */
  readonly endedSession: string | undefined
  /** Whether a deadline may be due. */
  readonly mayBeDue: boolean
  readonly events: AddressedEvent[] = []
  /** These three are there once there is something in them: most steps concern one grant, and nobody who waits. */
  grantsBefore: GrantBefore[] | undefined = undefined
  /** Waiters that have come, gone or changed what keeps them alive, with the lease that each had before the step. */
  leasesBefore: Map<Waiter, Lease | undefined> | undefined = undefined
  /** Those of them that do not wait any more. */
  gone: Set<Waiter> | undefined = undefined

  constructor(resource: Resource, context: Context, endedSession?: string) {
    this.resource = resource
    this.nowMs = context.nowMs
    this.policy = context.policy
    this.fenceFloor = context.fenceFloor
    this.actsFor = context.actsFor
    this.mayQueue = context.mayQueue ?? true
    this.hasRoom = context.hasRoom ?? true
    this.mayReference = context.mayReference ?? true
    this.sessionAlive = context.sessionAlive ?? true
    this.endedSession = endedSession
    this.mayBeDue = !context.spares && (context.nextDeadlineMs ?? -Infinity) <= context.nowMs
  }

  emit(event: Event, to: readonly Recipient[]): void {
    this.events.push({ event, to })
  }
}

/** How long an answer is kept for an ask that waited, and the last outcome of a key for those who come late. */
export const ANSWER_MS = 10_000

/** For so long after the first time, a classic client is told again to skip: the known one ignores that once. */
export const REPEAT_MS = 2_000

/** How long an ask that has ended is remembered. */
export const RELEASED_MS = 60_000
