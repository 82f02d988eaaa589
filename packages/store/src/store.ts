import type {
  ActorName,
  AddressedEvent,
  Command,
  Contention,
  Facts,
  PlacesOfSession,
  Policy,
  Refused,
  ReplyTo,
  ResourceView,
  Skip,
  Standing,
  WaiterPage,
} from '@baton-lock/core'

/** The namespace and id of a resource. */
export interface Address {
  readonly namespace: string
  readonly resource: string
}

/** Gets every event of a store. `elsewhere`: another process has caused it, and counts it. */
export type EventListener = (addressed: AddressedEvent, elsewhere: boolean) => void

/** A client's session. */
export interface SessionRequest {
  /** Chosen by the client and hard to guess. Opening it again renews it. */
  readonly session: string
  readonly node: string
  readonly ttlMs: number
}

/** The session is alive for its ttl from now on, or it has ended. */
export type SessionReply =
  /** `places`: the number of its places, so that a client notices a place that it does not know. */
  { readonly status: 'alive'; readonly ttlMs: number; readonly places: number } | typeof SESSION_LOST

/** The session has ended or never existed. */
export const SESSION_LOST = { status: 'refused', code: 'session-lost' } as const

/** One place of a session: a hold, an unclaimed grant, or a place in line. */
export interface Place extends Address {
  readonly operation: string
  readonly node: string
  readonly owner: string
}

/** Identifies a request. */
export interface AskAt extends Address, ActorName {
  readonly operation: string
  readonly hold: string
}

/** Selects resources, page by page. */
export interface ListQuery {
  readonly namespace?: string
  /** Only ids with this prefix. */
  readonly prefix?: string
  /** Only resources that this node holds, waits for or references, or whose kept success is its own. */
  readonly node?: string
  /** Only resources with a grant or a waiter. */
  readonly active?: boolean
  /** The `next` of the page before. */
  readonly after?: string
  readonly limit: number
  /** The maximum number of waiters per resource. Default: `WAITERS_SHOWN`. */
  readonly waiters?: number
}

/** A page of resources. `next` is where the following page begins, absent on the last one. */
export interface Page {
  readonly resources: readonly ResourceView[]
  readonly next?: string
}

/** How to pause a long list. */
export interface Pace {
  /**
   * Called between two pieces of work. Returns a promise if the next one has to wait; throws if the reply is not
   * wanted any more.
   */
  pause(): Promise<void> | undefined
  /** A page ends early, with its `next`, once it has about this size in bytes of JSON. It has at least one resource. */
  readonly pageBytes: number
}

/** The reply to a step. */
export type StepReply<C extends Command> = ReplyTo<C> | Refused

/** The size of a store. */
export interface Counts {
  readonly resources: number
  readonly grants: number
  readonly waiters: number
  readonly sessions: number
}

/** The number of waiters in all queues of one operation of a namespace. */
export interface QueueDepth {
  readonly namespace: string
  readonly operation: string
  readonly waiting: number
}

/** A policy and its version, which rises with every change. */
export interface VersionedPolicy {
  readonly version: number
  readonly policy: Policy
}

/**
 * The contract of every store. Stores differ in how they keep and carry, never in what they decide: that is the
 * core's `step`, which runs once for each command. `conformance/store-conformance.ts` tests every store against these
 * comments.
 *
 * A method that throws has failed or does not know: after `StoreUnavailable` nothing was changed, after
 * `UnknownOutcome` it may have been. Everything expected is returned, refusals included.
 */
export interface Store {
  /**
   * Tells this store from all others: the same for every process, as long as the store lasts. Clients compare it, to
   * notice servers on different stores. It is sent in a header, so it has to be visible ASCII.
   */
  readonly id: string

  /** The clock that counts. Monotonic, in milliseconds that look like those since 1970. */
  nowMs(): number

  /**
   * Runs one command on one resource. Atomic: the new state, its waiters and its events are kept together or not at
   * all, and no other step of the resource runs at the same time; steps of other resources do not wait. The store
   * tells the core whether the session of the command is alive at that moment; `facts` is what the caller knows. A
   * retry with the same hold id sees the result of the first try.
   *
   * A store whose state is in this process returns the reply at once, and the caller may pass it on after `durable`.
   * Any other store returns a promise, which resolves when the change is durable.
   */
  step<C extends Command>(address: Address, command: C, facts?: Facts): StepReply<C> | Promise<StepReply<C>>

  /**
   * To be called in the same turn of the event loop as `step`, once for all steps of the turn. Resolves when they are
   * durable, rejects or throws if they were lost. Returns `undefined` if there is nothing to wait for.
   */
  durable(): Promise<void> | undefined

  /**
   * A hint: this request has ended, its sender knows how, and no copy of it or of its release is under way, so it
   * need not be remembered. Absent if the store has no use for it.
   */
  acknowledge?(ask: AskAt): void

  /**
   * The present resource, with its due deadlines applied and a limited number of waiters; `undefined` if it is idle.
   */
  read(address: Address, waiterLimit?: number): Promise<ResourceView | undefined>

  /** The waiters of a resource in all of its queues, oldest first, page by page. */
  waiters(address: Address, page: { readonly after?: number; readonly limit: number }): Promise<WaiterPage>

  /**
   * Who holds a resource, by session, and which of these places of a session wait for whom. For those who look for clients
   * that wait for one another.
   */
  contention(address: Address, of?: PlacesOfSession): Promise<Contention>

  /** The present state of a request, with due deadlines applied. */
  standing(ask: AskAt): Promise<Standing>

  /** The answer to a former waiter without a revision that asks too late (`lateSkip`). */
  lateSkip(address: Address, operation: string): Promise<Skip | undefined>

  /** Resources that are not idle, in a stable order, page by page. Not a snapshot: each is as it was when read. */
  list(query: ListQuery, pace?: Pace): Promise<Page>

  /** Opens a session, or renews one that is alive. A session never ends before its last renewal plus its ttl. */
  openSession(request: SessionRequest): Promise<SessionReply>

  /** Renews a session that is alive. Refused after its end, even if nothing was taken over yet. */
  renewSession(session: string): Promise<SessionReply>

  /** Ends a session now, with all of its places. Does nothing if it is not alive. */
  closeSession(session: string): Promise<void>

  /** The places of a session, all or so many of them; `undefined` if it is not alive. */
  places(session: string, limit?: number): Promise<readonly Place[] | undefined>

  /**
   * Applies due deadlines of resources and sessions, at most `limit` of them to keep sweeps short. Forgets idle
   * resources, except for their fences.
   */
  sweep(limit: number): Promise<void>

  /** When `sweep` will have something to do. Cheap: called after every step. */
  nextDeadlineMs(): number | undefined

  /**
   * Subscribes to the events from now on, as steps return them. Events of one resource come in the order in which
   * they happened. Included are all events that this process causes, those for sessions that were opened or renewed
   * here, and after `hearAll` those of every process. `onGap` is called if events may have been missed: then the
   * present state has to be read again. `onDue` is called if `nextDeadlineMs` has come nearer without an event.
   * Returns a function that unsubscribes.
   */
  subscribe(listener: EventListener, onGap?: () => void, onDue?: () => void): () => void

  /** After it resolves, listeners get the events of every process on this store. */
  hearAll(): Promise<void>

  policy(): Promise<VersionedPolicy>

  /** Replaces the policy if it still has this version. Otherwise returns the present policy. */
  applyPolicy(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }>

  counts(): Promise<Counts>

  /** The number of waiters of all resources, as far as it is known here. Cheap: called before every acquire. */
  waiting(): number

  /** The length of queues, by namespace and operation, without empty ones. Absent if it is not known. */
  queues?(): Promise<readonly QueueDepth[]>

  /** The number of live sessions of a node. Cheap. Absent if they would have to be counted. */
  sessionsOf?(node: string): number

  /** The same of all nodes whose ids begin so. Looks at every node that has a session. */
  sessionsOfPrefix?(prefix: string): number

  close(): Promise<void>
}

/** Takes one step, and resolves when it is durable, on any kind of store. */
export async function durableStep<C extends Command>(
  store: Pick<Store, 'step' | 'durable'>,
  ...[address, command, facts]: [address: Address, command: C, facts?: Facts | undefined]
): Promise<StepReply<C>> {
  const reply = store.step(address, command, facts)
  if (!(reply instanceof Promise)) await store.durable()
  return reply
}

/** Injected time. Only the core has none: it is given the time. */
export interface Clock {
  /** Monotonic milliseconds that look like those since 1970. */
  nowMs(): number
  /**
   * Calls back with true when the time has jumped, before the new time is returned, and with false when everything
   * that had arrived before has been read. Nothing expires in between, as a renewal may be among what has arrived.
   * Absent if the time never jumps.
   */
  onCatchUp?(listener: (isCatchingUp: boolean) => void): void
}

/** The store cannot be reached or cannot write. Nothing was changed. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly code: StoreErrorCode = 'store-unavailable'
}

/** The store is down at the moment, and may come back by itself. */
export class StoreUnreachable extends StoreUnavailable {
  override readonly code = 'store-unreachable'
}

/** The store is in a format that this version of Baton does not read. Nothing was changed. */
export class UnknownFormat extends StoreUnavailable {
  override readonly code = 'unknown-format'

  constructor(what: string, { found, known }: { readonly found: number | undefined; readonly known: number }) {
    const format = found === undefined ? 'an unknown format' : `format ${found}`
    super(
      `${what} is in ${format}, but this Baton reads only format ${known}: ` +
        'use the version of Baton that wrote it, or name another store',
    )
  }
}

/** The store did not say whether the change was made. A retry with the same hold id finds out. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome'
  readonly code = 'unknown-outcome'
}

const STORE_ERROR_CODES = ['store-unavailable', 'store-unreachable', 'unknown-format', 'unknown-outcome'] as const
type StoreErrorCode = (typeof STORE_ERROR_CODES)[number]

/**
 * Which error of a store this is; `undefined` for any other error. Tells errors by their code, as a store in its own
 * package has its own copies of these classes.
 */
export function storeErrorCode(error: unknown): StoreErrorCode | undefined {
  const code = (error as { code?: unknown } | undefined)?.code
  return STORE_ERROR_CODES.find((each) => each === code)
}

/** Whether nothing was changed because the store was away. */
export function isStoreUnavailable(error: unknown): error is Error {
  const code = storeErrorCode(error)
  return code !== undefined && code !== 'unknown-outcome'
}
