import type {
  ActorName,
  Command,
  Event,
  Facts,
  Policy,
  Refused,
  ReplyTo,
  ResourceView,
  Skip,
  Standing,
  WaiterPage,
} from '../core/index.ts'

/** Which resource: its namespace and id. */
export interface Address {
  readonly namespace: string
  readonly resource: string
}

/** An event as a store carries it: what happened, to which resource, when, and in which order. */
export type StoreEvent = Event &
  Address & {
    readonly seq: number
    readonly atMs: number
    /** Another process has caused it, and counts it. */
    readonly elsewhere?: true
  }

/** The session of a client. */
export interface SessionRequest {
  /** Chosen by the client, hard to guess: opening the same one again renews it. */
  readonly session: string
  readonly node: string
  readonly ttlMs: number
}

/** The session is alive for its ttl from now on, or it is gone. */
export type SessionReply =
  /** `places`: how many hang off it, so that a client notices one that it does not know of. */
  { readonly status: 'alive'; readonly ttlMs: number; readonly places: number } | typeof SESSION_LOST

/** The session has ended or never was. */
export const SESSION_LOST = { status: 'refused', code: 'session-lost' } as const

/** One place of a session: a hold, a grant not yet claimed, or a place in line. */
export interface Place extends Address {
  readonly operation: string
  /** Absent only where an older version has written it down. */
  readonly node?: string | undefined
  readonly owner: string
}

/** An ask to be looked at. */
export interface AskAt extends Address, ActorName {
  readonly operation: string
  readonly hold: string
}

/** Which resources are wanted, a page at a time. */
export interface ListQuery {
  readonly namespace?: string
  /** Ids that start with this. */
  readonly prefix?: string
  /** Only resources that this node holds, waits for, references or has a kept success of. */
  readonly node?: string
  /** Only resources with a grant or a waiter. */
  readonly active?: boolean
  /** The `next` of the page before. */
  readonly after?: string
  readonly limit: number
  /** Of those who wait for a resource, so many are shown at most. Default: `WAITERS_SHOWN`. */
  readonly waiters?: number
}

/** A page of resources; `next` is where the following one begins, absent where this is the last. */
export interface Page {
  readonly resources: readonly ResourceView[]
  readonly next?: string
}

/** How a list that may be long is gone through. */
export interface Pace {
  /** Asked between two pieces of work: nothing to go on at once, or when to. Throws where nobody wants the answer any more. */
  pause(): Promise<void> | undefined
  /** A page ends early, with its `next`, once it is about as large as this in bytes of JSON. It has one resource at least. */
  readonly pageBytes: number
}

/** How much there is in a store. */
export interface Counts {
  readonly resources: number
  readonly grants: number
  readonly waiters: number
  readonly sessions: number
}

/** How many wait in all queues of one operation of a namespace. */
export interface QueueDepth {
  readonly namespace: string
  readonly operation: string
  readonly waiting: number
}

/** A policy, and its version, which rises with every change. */
export interface VersionedPolicy {
  readonly version: number
  readonly policy: Policy
}

/**
 * What every store does. Stores differ in how they keep and carry, never in what they decide: that is the core's
 * `step`, run once for each command. `testing/store-conformance.ts` holds every store to this page.
 *
 * A method that throws has failed or does not know: `StoreUnavailable` means that nothing was changed,
 * `UnknownOutcome` that it may have been. Everything expected, refusals too, is returned.
 */
export interface Store {
  /**
   * Tells this store from every other one: the same for every process on it, and as long as the store lasts. Clients compare
   * it, so that servers over different stores do not pass for one. It travels in a header: visible ASCII characters.
   */
  readonly id: string

  /** Whose clock counts. Monotonic, in milliseconds that look like those since 1970. */
  nowMs(): number

  /**
   * Runs one command on one resource. Atomic: the new state, its waiters and its events are kept together or not at
   * all, and no other step of the resource runs meanwhile; steps of other resources do not wait. Resolves once the
   * change is durable. The store knows whether the session that a command names is alive at that moment, and tells the
   * core; `facts` is what the caller knows. A retry with the same hold id sees the first try's result.
   */
  step<C extends Command>(address: Address, command: C, facts?: Facts): Promise<ReplyTo<C> | Refused>

  /** There where the state lives in this process: steps without a promise each, many of them with one sync. */
  readonly direct?: DirectSteps | undefined

  /** A resource as it is now, its due deadlines applied, with so many of its waiters; nothing where it is idle. */
  read(address: Address, waiterLimit?: number): Promise<ResourceView | undefined>

  /** Those who wait for a resource in all of its queues, oldest first: so many of those after a page. */
  waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage>

  /** Where an ask stands now, its due deadlines applied. */
  standing(ask: AskAt): Promise<Standing>

  /** What one who waited for an operation, and named no revision, is told when it comes late (`lateSkip`). */
  lateSkip(address: Address, operation: string): Promise<Skip | undefined>

  /** Resources that are not idle, in a stable order, a page at a time. Not a snapshot: each is as it was when read. */
  list(query: ListQuery, pace?: Pace): Promise<Page>

  /** Opens a session or renews one that is alive. A session never ends before its last renewal plus its ttl. */
  openSession(request: SessionRequest): Promise<SessionReply>

  /** Renews a session that is alive. Refused after its end, even if nobody has taken anything over. */
  renewSession(session: string): Promise<SessionReply>

  /** Ends a session now, with all of its places. Ending one that is not alive changes nothing. */
  closeSession(session: string): Promise<void>

  /** The places of a session that is alive; nothing where it is not. */
  places(session: string): Promise<readonly Place[] | undefined>

  /**
   * Applies deadlines that are due, of resources and of sessions, at most `limit` of them, so that no sweep takes
   * long. Idle resources are forgotten here, all but their fences.
   */
  sweep(limit: number): Promise<void>

  /** When `sweep` next has something to do. Cheap: asked after every step. */
  nextDeadlineMs(): number | undefined

  /**
   * The events from now on, in `seq` order; those of one resource in the order in which they happened: all that this
   * process causes, all that concern sessions opened or renewed by it, and after `hearAll` those of every process.
   * `onGap` is called where some may have been missed: then the present state has to be read again. `onDue` is called where
   * `nextDeadlineMs` has come nearer without an event. Returns how to stop.
   */
  subscribe(listener: (event: StoreEvent) => void, onGap?: () => void, onDue?: () => void): () => void

  /** From when it resolves, listeners hear the events of every process on this store. */
  hearAll(): Promise<void>

  policy(): Promise<VersionedPolicy>

  /** Replaces the policy if it still has this version; otherwise nothing changes and the present one is returned. */
  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }>

  counts(): Promise<Counts>

  /** How many wait in all, as far as is known here. Cheap: asked before every ask. */
  waiting(): number

  /** How long the queues are, by namespace and operation; those that nobody waits in are left out. Absent: that is not known. */
  queues?(): Promise<readonly QueueDepth[]>

  /** How many sessions of a node are alive. Cheap. Absent where it would have to be counted. */
  sessionsOf?(node: string): number

  close(): Promise<void>
}

/** The steps of a store whose state lives in this process. */
export interface DirectSteps {
  /** As `Store.step`, but at once: the reply is not to be told before it is `durable`. */
  step<C extends Command>(address: Address, command: C, facts?: Facts): ReplyTo<C> | Refused

  /**
   * Settles for all that was done so far, as the promise of `Store.step` would; nothing where there is nothing to wait for.
   * One call covers every step of a turn.
   */
  durable(): Promise<void> | undefined

  /** This ask has ended, its asker knows how, and no copy of it or of its release is still under way: it need not be remembered. */
  acknowledge(ask: AskAt): void
}

/** Time, injected everywhere but in the core, which is told the time. */
export interface Clock {
  /** Monotonic milliseconds, counted so that they look like those since 1970. */
  nowMs(): number
  /**
   * Calls back with true when its time has jumped, before that is told, and with false when what had arrived before has been
   * read: nothing runs out meanwhile, as its renewal may be under way. Absent: its time never jumps.
   */
  onCatchUp?(listener: (isCatchingUp: boolean) => void): void
}

/** The store cannot be reached or cannot write; nothing was changed. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** Nobody is there at the moment: it may come back by itself. */
export class StoreUnreachable extends StoreUnavailable {}

/** The store did not say whether the change was made. Asking again with the same hold id finds out. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome'
}
