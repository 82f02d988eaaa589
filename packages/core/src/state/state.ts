import type { Answer, Json, Outcome, PreviousAttempt, ReleaseReply, Traceparent } from '../reply.ts'
import type { Holds } from './holds.ts'
import type { Lease } from './lease.ts'
import { type Entries, noEntries, SmallMap, type WritableEntries } from './small-map.ts'

/** A place in a key's queue: one for an actor, however often it asks. */
export interface Waiter {
  readonly operation: string
  readonly owner: string
  readonly node: string
  /** The hold id of the ask that took the place; its final answer is kept under it. */
  readonly hold: string
  /** Rises with every place taken in the resource: the order of all of its queues. */
  readonly ticket: number
  readonly sinceMs: number
  readonly revision: string | undefined
  /** What the request said; an ask that says otherwise is another ask. */
  readonly disbelieve: number | undefined
  /** The newest success that this request does not believe, fixed when it asked. */
  readonly disbelieved: number | undefined
  readonly reference: boolean
  /** It will check for itself: a skip does not reference its node. */
  readonly verifies?: boolean | undefined
  /** It came by the classic paths. */
  readonly classic?: boolean | undefined
  readonly waitUntilMs: number | undefined
  lease: Lease
}

/**
 * The waiters of one resource, a FIFO queue per operation. This is all that the rules may ask of them, so that a
 * queue of ten thousand costs no more than one of ten, and a store may keep waiters as rows of its own.
 */
interface Waiters {
  readonly size: number
  count(operation: string): number
  /** So many of them are of this node, or more where not all are at hand. */
  countOf(operation: string, node: string): number
  /** Those whose queues are not empty. */
  operations(): string[]
  head(operation: string): Waiter | undefined
  /** One for each node that uses this owner. */
  ofOwner(operation: string, owner: string): readonly Waiter[]
  all(operation: string): Waiter[]
  ofRevision(operation: string, revision: string | undefined): Waiter[]
  /** 1 for the head. This, `remove` and `renewed` are asked only of one that stands in line. */
  position(waiter: Waiter): number
  remove(waiter: Waiter): void
  /** The lease of a waiter was renewed. */
  renewed(waiter: Waiter): void
  /** One waiter whose lease or wait limit is over, the earliest first; it still stands in line. */
  due(nowMs: number): Waiter | undefined
  nextDeadlineMs(): number | undefined
  /** For people and for the holder of a delete, oldest first: so many of those with a later ticket than this. */
  list(limit: number, afterTicket?: number): Waiter[]
}

/** Waiters that others can join. */
export interface WritableWaiters extends Waiters {
  append(waiter: Waiter): void
}

/** The right of one actor to run an operation, with the holds that keep it. */
export interface Grant {
  readonly operation: string
  readonly owner: string
  readonly node: string
  readonly fence: number
  readonly revision: string | undefined
  readonly sinceMs: number
  /** 1 for the first in a row of failures. */
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined
  readonly reference: boolean
  /** The hold id and revision of the ask that waited for it. */
  readonly hold: string
  readonly disbelieve: number | undefined
  readonly classic?: boolean | undefined
  /** Until when a grant to a waiter has to be claimed; absent once it is. */
  claimByMs: number | undefined
  /** What keeps an unclaimed grant alive: the lease of the waiter that it went to. There whenever `claimByMs` is. */
  unclaimedLease: Lease | undefined
  readonly holds: Holds
  progress: Json | undefined
  /** When those who wait were last told of it, and when they are to be told of what has come since. */
  progressToldMs?: number | undefined
  progressDueMs?: number | undefined
}

/** A success that is kept: later requests of the same key and revision skip on it. */
export interface KeptSuccess {
  readonly revision: string | undefined
  readonly fence: number
  readonly node: string
  readonly atMs: number
  readonly result: Json | undefined
  readonly resultOmitted?: true | undefined
  readonly traceparent?: Traceparent | undefined
  readonly untilMs: number
}

/** The last outcome of a key, remembered for a short while for those who come late. */
export interface RecentOutcome {
  readonly outcome: Outcome
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly revision: string | undefined
  readonly atMs: number
  /** The number of the resource's successes when it ended. */
  readonly after: number
  readonly untilMs: number
}

/** The last success that contradicts an operation: whoever was told before that its work is there is not told so again. */
export interface Contradiction {
  /** Its number among the resource's successes. */
  readonly success: number
  readonly untilMs: number
}

/** A queue that goes on only after its retry delay. */
export interface Pause {
  readonly untilMs: number
  readonly revision: string | undefined
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined
}

/** What an ask was told in the end, kept for it in case it asks again. */
export interface KeptAnswer {
  /** Whose ask it was; absent: whoever asks. */
  readonly node?: string | undefined
  readonly revision: string | undefined
  readonly disbelieve: number | undefined
  readonly answer: Answer
  /** The number of the resource's successes when it was told. */
  readonly after: number
  /** A classic client has been given it, and until then is given it again. */
  readonly repeatUntilMs?: number | undefined
  readonly untilMs: number
}

/** An ask that has ended, remembered so that the same release again gets the same answer, and a late duplicate changes nothing. */
export interface EndedAsk {
  readonly node?: string | undefined
  /** Of the grant that it had; 0 where it had none. */
  readonly fence: number
  readonly reply: ReleaseReply
  /** Where it ended without a grant: its answer. */
  readonly kept?: KeptAnswer | undefined
  readonly untilMs: number
}

/**
 * What is remembered of asks for a while. There may be very many, so a store may keep them as rows of its own.
 */
export interface Remembered<Value extends { readonly node?: string | undefined; readonly untilMs: number }> {
  readonly size: number
  /** One for each node whose ask was named so, oldest first. */
  of(ask: AskName): readonly Value[]
  delete(ask: AskName, value: Value): void
  /** Forgets all that are due. */
  forget(nowMs: number): void
  nextDeadlineMs(): number | undefined
}

/** Memories that can be added to. */
export interface WritableRemembered<Value extends { readonly node?: string | undefined; readonly untilMs: number }>
  extends Remembered<Value> {
  /** Takes the place of what the same node had. Values are set in the order of their `untilMs`. */
  set(ask: AskName, value: Value): void
}

/** What is known of a resource by operation. These are small, and most of them are empty. */
interface ByOperation {
  grants: Grant
  pauses: Pause
  kept: KeptSuccess
  recent: RecentOutcome
  contradicted: Contradiction
}

/** The nodes that use a resource, each with the number of the change that said so last; a `Map` will do. */
type References = Pick<Map<string, number>, 'size' | 'has' | 'get' | 'keys' | 'values' | 'delete'>

/**
 * How far the changes of the references are numbered. A command that names the number that its sender has seen is carried
 * out only if nothing has come since that it would undo, however late it is.
 */
export interface ReferenceChanges {
  /** The number of the last change. */
  readonly last: number
  /** No reference went after this number. */
  readonly lastRelease: number
  /** Until when the numbers are kept although nobody uses the resource: they were told to one who is about to add a reference. */
  readonly keptUntilMs?: number | undefined
}

/**
 * Everything that is known of one resource. What is put into one of its maps is put there by `toWrite`; waiters and memories by
 * `waitersToWrite` and `memoriesToWrite`.
 */
export interface Resource extends Readonly<{ [Part in keyof ByOperation]: Entries<ByOperation[Part]> }> {
  readonly namespace: string
  readonly id: string
  /** The last fence granted. */
  fence: number
  /** The last ticket given to a waiter. */
  ticket: number
  /** How many successes it has had that changed something. */
  successes: number
  readonly waiters: Waiters
  readonly references: References
  /** Absent until they are numbered. */
  changes: ReferenceChanges | undefined
  readonly answers: Remembered<KeptAnswer>
  readonly released: Remembered<EndedAsk>
}

/** The hold id of askers that have none of their own. Only this one may be used again after its grant has ended. */
export const SHARED_HOLD = '-'

/** Under this hold id, which no ask can have, it is kept that a classic client has lost its place. */
export const LOST_PLACE = ''

/** The parts of a resource that may be large. A store brings its own, or those of `resourceInMemory`. */
export interface Keeping {
  readonly waiters: WritableWaiters
  readonly answers: WritableRemembered<KeptAnswer>
  readonly released: WritableRemembered<EndedAsk>
}

/** A resource that nobody has asked for yet. */
export function newResource(namespace: string, id: string, { waiters, answers, released }: Keeping): Resource {
  return {
    namespace,
    id,
    fence: 0,
    ticket: 0,
    successes: 0,
    grants: noEntries,
    waiters,
    pauses: noEntries,
    kept: noEntries,
    recent: noEntries,
    contradicted: noEntries,
    references: noReferences,
    changes: undefined,
    answers,
    released,
  }
}

const noReferences: References = new Map<string, number>()

/** One of the maps of a resource, to put something in. Resources share an empty one until then: there may be a million. */
export function toWrite<Part extends keyof ByOperation>(
  resource: Resource,
  part: Part,
): WritableEntries<ByOperation[Part]> {
  const parts: Record<string, unknown> = resource as Resource & Record<string, unknown>
  if (parts[part] === noEntries) parts[part] = new SmallMap()
  return parts[part] as WritableEntries<ByOperation[Part]>
}

/** 'This node uses this resource', said by the change of this number: puts it into the map, and nothing more. */
export function addReference(resource: { references: References }, node: string, change: number): void {
  if (resource.references === noReferences) resource.references = new Map()
  const references = resource.references as Map<string, number>
  references.set(node, change)
}

/** No number of a resource is above this, fences included: they go on from here once it is forgotten. */
export function highestNumber({ fence, changes }: Pick<Resource, 'fence' | 'changes'>): number {
  return Math.max(fence, changes?.last ?? 0)
}

/** An idle resource may be forgotten: nothing of it is worth a byte but its fence. */
export function isIdle(resource: Resource): boolean {
  return (
    resource.grants.size === 0 &&
    resource.waiters.size === 0 &&
    resource.pauses.size === 0 &&
    resource.kept.size === 0 &&
    resource.recent.size === 0 &&
    resource.contradicted.size === 0 &&
    resource.references.size === 0 &&
    resource.changes?.keptUntilMs === undefined &&
    resource.answers.size === 0 &&
    resource.released.size === 0
  )
}

/** What an ask is known by within a resource and to its node. */
export interface AskName {
  readonly operation: string
  readonly owner: string
  readonly hold: string
}

/** The name as text. The parts are quoted, so that no two asks share one. */
export function askName({ operation, owner, hold }: AskName): string {
  return JSON.stringify([operation, owner, hold])
}

/** The name that a text stands for. */
export function askNamed(text: string): AskName {
  const [operation, owner, hold] = JSON.parse(text)
  return { operation, owner, hold }
}

/** The revision as views carry it: absent where there is none. */
export function revisionOf({ revision }: { readonly revision: string | undefined }): { readonly revision?: string } {
  return revision === undefined ? {} : { revision }
}
