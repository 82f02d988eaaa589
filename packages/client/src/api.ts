import type { GrantView, Json, Policy, PreviousAttempt, ResourceView, WaiterView } from '@baton-lock/core'
import type { Overview, PastGrant, WireEvent } from '@baton-lock/protocol'
import type {
  AskOptions,
  LeadOptions,
  LockOptions,
  OnceOptions,
  RunOptions,
  SuccessOptions,
  TryLockOptions,
} from './options.ts'

export type * from './options.ts'

/** Whether it is held still, by both clocks of this machine. All three are right at once, even while the event loop has no turn. */
export interface Held {
  /**
   * Whether it is held: neither lost nor released, and its lease is good. False without a grant (`whenUnavailable: 'run'`). Read it
   * from the object each time.
   */
  readonly isHeld: boolean
  /** How long it is held without another renewal of the lease; 0 if it is not. Renewals go on by themselves. */
  readonly remainingMs: number
  /**
   * Throws a `GrantLostError` if it is lost, and an error of the code `ended` after its release. Call it before each write that must
   * not happen without the grant. `signal` cannot abort while the event loop is blocked. After a block it has aborted when one turn of
   * the event loop is over, for example after `await setTimeout(0)`.
   */
  throwIfLost(): void
}

/** The argument of a callback. */
export interface RunContext extends Held {
  /** The node that does the work: this one. */
  readonly node: string
  /** The owner of the grant. Another call with this `owner` enters the grant again. */
  readonly owner: string
  /** The fencing token, for whatever the work writes to. 0 without a grant (`whenUnavailable: 'run'`). */
  readonly fence: number
  /** 1, and one more after each failure in a row. */
  readonly attempt: number
  /** How the attempt before this one ended. */
  readonly previous: PreviousAttempt | undefined
  /** Aborts with a `GrantLostError` when the grant is lost, and when the `signal` of the call aborts. */
  readonly signal: AbortSignal
  /** All waiters in all queues of the resource, oldest first. */
  waiters(): Promise<readonly WaiterView[]>
  /** The grants of other operations on the resource. */
  holders(): Promise<readonly GrantView[]>
  /** Reports progress to those who wait or watch. Never throws. */
  progress(progress: Json): void
  /** There was nothing to do: the success changes nothing. */
  noEffect(): void
}

/** The argument of a leader's callback. */
export interface LeadContext extends Held {
  /** The node that leads: this one. */
  readonly node: string
  /** The owner of the grant. */
  readonly owner: string
  /** The fencing token, for whatever the leader writes to. It rises with every leader. */
  readonly fence: number
  /** Aborts when it leads no longer, or is to stop. It has to stop then: another may lead already. */
  readonly signal: AbortSignal
}

/** The present leader. */
export interface Leader {
  /** The node that leads. */
  readonly node: string
  /** Its fence, which rises with every leader. */
  readonly fence: number
  /** Since when it leads. */
  readonly since: Date
}

/** The work was done here. */
export type Performed<Result> = {
  /** It was done here. */
  readonly status: 'performed'
  /** The value that the callback returned. */
  readonly result: Result
  /** For a `Skipped` only. */
  readonly resultOmitted: false
  /** The fence of the grant; 0 without a grant. */
  readonly fence: number
  /** The node that did it: this one. */
  readonly by: string
  /** When it was done. */
  readonly at: Date
}
/** The work was done already, by another node or call. */
export type Skipped<Result> = {
  /** Nothing was done here. */
  readonly status: 'skipped'
  /** The result as JSON; `undefined` if there was none, or if it is not known. */
  readonly result: Result | undefined
  /** There was a result, but it was too large or not JSON. */
  readonly resultOmitted: boolean
  /** The fence of that success, or of the own grant if `verify` found the work under it; otherwise 0. */
  readonly fence: number
  /** The node that did it; `undefined` if the skip rests on references or `verify` alone. */
  readonly by: string | undefined
  /** When it was done; `undefined` if that is not known. */
  readonly at: Date | undefined
}
/** The work is done: by this call, or already before. */
export type Done<Result> = Performed<Result> | Skipped<Result>

/** A lock. Leaving its scope releases it, whatever happened there. */
export interface Lock extends Held, AsyncDisposable {
  /** The locked resource. */
  readonly resource: string
  /** The node that holds it: this one. */
  readonly node: string
  /** The owner of the grant: give it to `owner` of another call to enter the lock again. */
  readonly owner: string
  /** The fencing token, for whatever is written under the lock. 0 without a grant (`whenUnavailable: 'run'`). */
  readonly fence: number
  /** Aborts with a `GrantLostError` when the lock is lost, and when the `signal` of the call aborts. */
  readonly signal: AbortSignal
  /** Releases it before the scope is left. Throws if the lock was lost. */
  release(): Promise<void>
}

/** The right to do the work now. Leaving its scope without an outcome is a failure. */
export interface Grant extends Held, AsyncDisposable {
  /** Distinguishes it from a skip. */
  readonly status: 'granted'
  /** The operation. */
  readonly operation: string
  /** The resource. */
  readonly resource: string
  /** The node that holds it: this one. */
  readonly node: string
  /** The owner of the grant. Another call with this `owner` enters the grant again. */
  readonly owner: string
  /** The fencing token, for whatever the work writes to. */
  readonly fence: number
  /** 1, and one more after each failure in a row. */
  readonly attempt: number
  /** How the attempt before this one ended. */
  readonly previous: PreviousAttempt | undefined
  /** Aborts with a `GrantLostError` when the grant is lost, and when the `signal` of the call aborts. */
  readonly signal: AbortSignal
  /** All waiters in all queues of the resource, oldest first. */
  waiters(): Promise<readonly WaiterView[]>
  /** The grants of other operations on the resource. */
  holders(): Promise<readonly GrantView[]>
  /** Reports progress to those who wait or watch. Never throws. */
  progress(progress: Json): void
  /** Reports a success and releases the grant. The first report counts; a second one throws. */
  succeed(result?: unknown, options?: SuccessOptions): Promise<void>
  /** Reports a failure and releases the grant. The next waiter takes over, unless the failure is `permanent`. */
  fail(error: unknown, options?: { readonly permanent?: boolean }): Promise<void>
  /** Releases the grant without an attempt; the next waiter goes on. */
  cancel(): Promise<void>
}

/** References: which nodes use which resource. */
export interface References {
  /** The nodes that use a resource. */
  list(resource: string, options?: { readonly namespace?: string }): Promise<readonly string[]>
  /** Adds a node (default: this one) to the users of a resource. Returns how many there are now. */
  add(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  /** Removes a node (default: this one) from the users of a resource. Returns how many are left. */
  release(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  /** Removes all references of a dead node. Returns the number of resources that had one. */
  dropNode(node: string, options?: { readonly namespace?: string }): Promise<number>
}

/** A resource at one moment. */
export interface ResourceStatus extends ResourceView {
  /** That moment, by the clock of all times in it. The clock of this machine may differ, so count ages from here. */
  readonly nowMs: number
}

/** The last grants of a resource that the server has seen. */
export interface Timeline {
  /** The moment of the reply, by the clock of all times in it. */
  readonly nowMs: number
  /** Oldest first; a live grant has no end. */
  readonly grants: readonly PastGrant[]
}

/** A client of servers (`connect`) or of a store (`open`). Leaving its scope closes it. */
export interface Baton extends AsyncDisposable {
  /** The node of this client. */
  readonly node: string
  /** A plain fair mutex: one at a time in the whole cluster, in the order of the requests. */
  lock<Result>(
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: LockOptions,
  ): Promise<Result>
  /** The same for a scope: `await using lock = await baton.lock('nightly')`. */
  lock(resource: string, options?: LockOptions): Promise<Lock>
  /** The same without waiting: the lock, or `null` if it is taken. */
  tryLock(resource: string, options?: TryLockOptions): Promise<Lock | null>
  /**
   * Once in the whole cluster: one call does the work. Those that wait get its result, and so do those that come within `keepMs`. If
   * it fails, the next waiter does it.
   */
  once<Result>(
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: OnceOptions,
  ): Promise<Done<Result>>
  /** Drops the kept success of `once`, or of another operation, so that the work is done again. Returns whether there was one. */
  forget(resource: string, options?: { readonly namespace?: string; readonly operation?: string }): Promise<boolean>
  /**
   * One leader at a time. Waits until it leads, runs the callback, and ends as the callback does. After a loss it waits again, once
   * the callback has stopped. A standby that is stopped by its `signal` resolves to `undefined`.
   */
  lead<Result>(
    name: string,
    callback: (context: LeadContext) => Result | Promise<Result>,
    options?: LeadOptions,
  ): Promise<Result | undefined>
  /** The present leader; `undefined` if there is none. */
  leader(name: string, options?: { readonly namespace?: string }): Promise<Leader | undefined>
  /**
   * An operation of the policy table: runs the callback under a grant, or skips because the work was done. An error of the callback
   * is reported as a failure and rethrown.
   */
  run<Result>(
    operation: string,
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: RunOptions,
  ): Promise<Done<Result>>
  /** A grant without a callback. A skip is thrown as a `SkippedError`. */
  acquire(operation: string, resource: string, options?: AskOptions): Promise<Grant>
  /** A grant of an operation if there is one without waiting, otherwise `null`. A skip is thrown as a `SkippedError`. */
  tryAcquire(
    operation: string,
    resource: string,
    options?: Omit<AskOptions, 'waitMs' | 'queueing'>,
  ): Promise<Grant | null>
  /** References: which nodes use which resource. */
  readonly references: References
  /** The state of a resource, with its first thousand waiters; `waiters` returns all of them. */
  status(resource: string, options?: { readonly namespace?: string }): Promise<ResourceStatus>
  /** All waiters in all queues of a resource, oldest first. */
  waiters(resource: string, options?: { readonly namespace?: string }): Promise<readonly WaiterView[]>
  /** All resources that are not idle, page by page. */
  list(options?: {
    readonly namespace?: string
    readonly prefix?: string
    readonly node?: string
    readonly active?: boolean
  }): AsyncIterable<ResourceStatus>
  /** The last grants of a resource that the server has seen; none without a server. */
  timeline(resource: string, options?: { readonly namespace?: string }): Promise<Timeline>
  /** Totals of the server, and figures of its last minutes; of one namespace, or of all. */
  overview(options?: { readonly namespace?: string }): Promise<Overview>
  /**
   * For operators: ends the grant of a holder; with a `fence`, only that grant. Returns whose it was.
   */
  revoke(
    operation: string,
    resource: string,
    options?: { readonly namespace?: string; readonly fence?: number },
  ): Promise<{ readonly node: string; readonly fence: number }>
  /** All events from now on, or those of one resource. The first is the present state. Ends with the signal. */
  events(options?: {
    readonly namespace?: string
    readonly resource?: string
    readonly signal?: AbortSignal
  }): AsyncIterable<WireEvent>
  /** The present policy and its version. */
  policy(): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Checks and completes a policy, and replaces the present one. */
  applyPolicy(policy: unknown, expectedVersion: number): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Reports open grants as failed, leaves all queues, and ends the session. */
  close(): Promise<void>
}
