import { EDITION } from './edition.ts'
import type { Event } from './event.ts'
import type { NamespacePolicy } from './policy.ts'
import type { Lease, Resource, Waiter } from './state.ts'

/** What only whoever carries a command knows of the one that gave it. */
export interface Facts {
  /** The nodes that the asker may act for; absent: all of them. */
  readonly actsFor?: readonly string[] | undefined
  /** False: so many wait in all that nobody else may stand in line. */
  readonly mayQueue?: boolean | undefined
}

/** What a step is told from outside. */
export interface Context extends Facts {
  readonly nowMs: number
  readonly policy: NamespacePolicy
  /** The store's promise that no grant of this resource had a higher fence than this or the resource's own. */
  readonly fenceFloor: number
  /** False: the session that the command names is not alive. */
  readonly sessionAlive?: boolean | undefined
  /** By which edition of the rules it is decided. Only a log that was written under an older one asks for that. */
  readonly edition?: number | undefined
}

/** One step under way: the resource that it may change, and what it has caused so far. */
export interface Turn extends Context {
  readonly resource: Resource
  readonly sessionAlive: boolean
  readonly mayQueue: boolean
  readonly edition: number
  readonly events: Event[]
  /** Waiters that have come, gone or changed what keeps them alive, with the lease that each had before the step. */
  readonly leasesBefore: Map<Waiter, Lease | undefined>
  /** Those of them that do not wait any more. */
  readonly gone: Set<Waiter>
}

export function turnOf(resource: Resource, context: Context): Turn {
  const { sessionAlive = true, mayQueue = true, edition = EDITION } = context
  return { ...context, resource, sessionAlive, mayQueue, edition, events: [], leasesBefore: new Map(), gone: new Set() }
}

/** How long an answer is kept for an ask that waited, and the last outcome of a key for those who come late. */
export const ANSWER_MS = 10_000

/** How long an ask that has ended is remembered. */
export const RELEASED_MS = 60_000
