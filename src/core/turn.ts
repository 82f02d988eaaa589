import type { Event } from './event.ts'
import type { NamespacePolicy } from './policy.ts'
import type { Resource } from './state.ts'

/** What a step is told from outside. */
export interface Context {
  readonly nowMs: number
  readonly policy: NamespacePolicy
  /** The store's promise that no grant of this resource had a higher fence than this or the resource's own. */
  readonly fenceFloor: number
}

/** One step under way: the resource that it may change, and the events that it has caused so far. */
export interface Turn extends Context {
  readonly resource: Resource
  readonly events: Event[]
}

/** How long an answer is kept for an ask that waited, and the last outcome of a key for those who come late. */
export const ANSWER_MS = 10_000

/** How long a released hold is remembered. */
export const RELEASED_MS = 60_000
