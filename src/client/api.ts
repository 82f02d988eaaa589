import type { GrantView, Json, Policy, PreviousAttempt, ResourceView, WaiterView } from '../core/index.ts'
import type { Overview, PastGrant, WireEvent } from '../protocol/index.ts'
import type { AskOptions, LeadOptions, LockOptions, OnceOptions, RunOptions, SuccessOptions } from './options.ts'

export type * from './options.ts'

/** What a callback gets. */
export interface RunContext {
  /** The node that runs it: this one. */
  readonly node: string
  /** The owner of the grant: give it to `owner` of another call to enter the grant again. */
  readonly owner: string
  /** The fencing token: give it to whatever the work writes to. 0 where it runs without a grant. */
  readonly fence: number
  /** 1 for the first in a row of failures. */
  readonly attempt: number
  /** How the attempt before this one ended. */
  readonly previous: PreviousAttempt | undefined
  /** Aborts with a `GrantLostError` when the grant is lost, and when the caller's own signal does. */
  readonly signal: AbortSignal
  /** Who waits in all queues of the resource now, all of them, oldest first. */
  waiters(): Promise<readonly WaiterView[]>
  /** Who holds the resource now under other operations. */
  holders(): Promise<readonly GrantView[]>
  /** Says how far it is, for those who watch. Never throws. */
  progress(progress: Json): void
  /** Says that nothing was to be done: the success changes nothing. */
  noEffect(): void
}

/** What a leader gets. */
export interface LeadContext {
  /** The node that leads: this one. */
  readonly node: string
  /** The owner of the grant. */
  readonly owner: string
  /** Rises with every leader: give it to whatever the leader writes to. */
  readonly fence: number
  /** Aborts when it does not lead any more, or is asked to stop. It has to stop then: another may lead already. */
  readonly signal: AbortSignal
}

/** Who leads at the moment. */
export interface Leader {
  /** The node that leads. */
  readonly node: string
  /** Its fence: rises with every leader. */
  readonly fence: number
  /** When it was granted. */
  readonly since: Date
}

/** The work was done here. */
export type Performed<Result> = {
  /** It was done here. */
  readonly status: 'performed'
  /** What the callback returned. */
  readonly result: Result
  /** Of one that was told. */
  readonly resultOmitted: false
  /** Of the grant; 0 where it ran without one. */
  readonly fence: number
  /** The node that did it: this one. */
  readonly by: string
  /** When it was done. */
  readonly at: Date
}
/** The work has been done already, by somebody else. */
export type Skipped<Result> = {
  /** Nothing was done here. */
  readonly status: 'skipped'
  /** As the one that did it returned it, as JSON; absent where it returned nothing or is not known. */
  readonly result: Result | undefined
  /** It returned something that is too large to be told, or not JSON. */
  readonly resultOmitted: boolean
  /** Of the success that it rests on; of its own grant where `verify` found the work then; 0 where there is neither. */
  readonly fence: number
  /** The node that did it; absent where the skip rests on references or on `verify` alone. */
  readonly by: string | undefined
  /** When it was done; absent where that is not known. */
  readonly at: Date | undefined
}
/** How it came to be done: here, or already elsewhere. */
export type Done<Result> = Performed<Result> | Skipped<Result>

/** A lock that is held. Leaving its scope releases it, whatever has happened there. */
export interface Lock extends AsyncDisposable {
  /** What is locked. */
  readonly resource: string
  /** The node that holds it: this one. */
  readonly node: string
  /** The owner of the grant: give it to `owner` of another call to enter the lock again. */
  readonly owner: string
  /** The fencing token: give it to whatever is written to under the lock. 0 where there is no grant (`whenUnavailable`). */
  readonly fence: number
  /** Aborts with a `GrantLostError` when the lock is lost, and when the caller's own signal does. */
  readonly signal: AbortSignal
  /** Lets go before the scope is left. Throws where the lock was lost. */
  release(): Promise<void>
}

/** The right to run the operation now. Disposing of it without an outcome is a failure. */
export interface Grant extends AsyncDisposable {
  /** It is held, or was. */
  readonly status: 'granted'
  /** What may be done. */
  readonly operation: string
  /** What it is done to. */
  readonly resource: string
  /** The node that holds it: this one. */
  readonly node: string
  /** The owner of the grant: give it to `owner` of another call to enter the grant again. */
  readonly owner: string
  /** The fencing token: give it to whatever the work writes to. */
  readonly fence: number
  /** 1 for the first in a row of failures. */
  readonly attempt: number
  /** How the attempt before this one ended. */
  readonly previous: PreviousAttempt | undefined
  /** Aborts, with a `GrantLostError`, when the grant is lost. */
  readonly signal: AbortSignal
  /** Who waits in all queues of the resource now, all of them, oldest first. */
  waiters(): Promise<readonly WaiterView[]>
  /** Who holds the resource now under other operations. */
  holders(): Promise<readonly GrantView[]>
  /** Says how far it is, for those who watch. Never throws. */
  progress(progress: Json): void
  /** Reports the outcome and lets go. The first report counts; another one after it throws. */
  succeed(result?: unknown, options?: SuccessOptions): Promise<void>
  /** Reports a failure and lets go: the next in line takes over, unless it is `permanent`. */
  fail(error: unknown, options?: { readonly permanent?: boolean }): Promise<void>
  /** Lets go: it does not count as an attempt, and the next in line goes on. */
  cancel(): Promise<void>
}

/** Which nodes use which resource. */
export interface References {
  /** The nodes that use a resource. */
  list(resource: string, options?: { readonly namespace?: string }): Promise<readonly string[]>
  /** Says that a node (default: this one) uses a resource. Returns how many do now. */
  add(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  /** Says that a node (default: this one) uses a resource no longer. Returns how many still do. */
  release(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  /** A dead node: all of its references go. Returns how many resources that touched. */
  dropNode(node: string, options?: { readonly namespace?: string }): Promise<number>
}

/** A resource as it was at one moment. */
export interface ResourceStatus extends ResourceView {
  /** When that was, by the clock that all times in it go by. This machine's may be another: count ages from here. */
  readonly nowMs: number
}

/** The last grants of a resource, as far as the server has seen them. */
export interface Timeline {
  /** When that was, by the clock that all times in it go by. */
  readonly nowMs: number
  /** Oldest first; one that lives has no end. */
  readonly grants: readonly PastGrant[]
}

/** A client, of a server (`connect`) or on a store (`open`). Disposing of it closes it. */
export interface Baton extends AsyncDisposable {
  /** The node that it asks for. */
  readonly node: string
  /** A plain fair mutex: one at a time in the whole cluster, in the order in which they asked. */
  lock<Result>(
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: LockOptions,
  ): Promise<Result>
  /** The same for a scope: `await using lock = await baton.lock('nightly')`. */
  lock(resource: string, options?: LockOptions): Promise<Lock>
  /**
   * Done once in the whole cluster: one does it, those who wait are told its result, and so are those who come within
   * `keepMs` of its success. Where it fails, the next in line does it.
   */
  once<Result>(
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: OnceOptions,
  ): Promise<Done<Result>>
  /** Drops what is kept of `once`, or of another operation: it is done again. Resolves to whether something was kept. */
  forget(resource: string, options?: { readonly namespace?: string; readonly operation?: string }): Promise<boolean>
  /**
   * One leader at a time. Waits until it leads, runs the callback, and ends with what that returns or throws. Where it has
   * lost, it stands again by itself once the callback has stopped. A standby that its `signal` stops resolves to
   * `undefined`.
   */
  lead<Result>(
    name: string,
    callback: (context: LeadContext) => Result | Promise<Result>,
    options?: LeadOptions,
  ): Promise<Result | undefined>
  /** Who leads now; nothing where nobody does. */
  leader(name: string, options?: { readonly namespace?: string }): Promise<Leader | undefined>
  /**
   * An operation of the policy table: runs the callback under a grant, or skips because it has been done. An error that the
   * callback throws is reported as the failure and rethrown as it is.
   */
  run<Result>(
    operation: string,
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: RunOptions,
  ): Promise<Done<Result>>
  /** The grant itself, for those who do not want a callback; a skip is thrown as a `SkippedError`. */
  acquire(operation: string, resource: string, options?: AskOptions): Promise<Grant>
  /** The grant if it is to be had now, else null: it does not wait. A skip is thrown as a `SkippedError`. */
  tryAcquire(
    operation: string,
    resource: string,
    options?: Omit<AskOptions, 'waitMs' | 'queueing'>,
  ): Promise<Grant | null>
  /** Which nodes use which resource. */
  readonly references: References
  /** Of those who wait it has the first thousand: `waiters` has them all. */
  status(resource: string, options?: { readonly namespace?: string }): Promise<ResourceStatus>
  /** Who waits in all queues of a resource, all of them, oldest first. */
  waiters(resource: string, options?: { readonly namespace?: string }): Promise<readonly WaiterView[]>
  /** All resources that are not idle, a page at a time. */
  list(options?: {
    readonly namespace?: string
    readonly prefix?: string
    readonly node?: string
    readonly active?: boolean
  }): AsyncIterable<ResourceStatus>
  /** The last grants of a resource; none where the server has seen none, and none of a store without a server. */
  timeline(resource: string, options?: { readonly namespace?: string }): Promise<Timeline>
  /** How the server is doing: totals, and the last minutes piece by piece; of one namespace, or of all of them. */
  overview(options?: { readonly namespace?: string }): Promise<Overview>
  /**
   * As an operator: takes a grant away from its holder, only the one with this fence if one is given. Returns whose
   * it was.
   */
  revoke(
    operation: string,
    resource: string,
    options?: { readonly namespace?: string; readonly fence?: number },
  ): Promise<{ readonly node: string; readonly fence: number }>
  /** Every event from now on, or of one resource; the first tells the present state. Ends with the signal. */
  events(options?: {
    readonly namespace?: string
    readonly resource?: string
    readonly signal?: AbortSignal
  }): AsyncIterable<WireEvent>
  /** The policy that counts now, and its version. */
  policy(): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Checks and completes the policy, and replaces the present one. */
  applyPolicy(policy: unknown, expectedVersion: number): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Reports what is still open as failed, leaves all queues, ends the session. */
  close(): Promise<void>
}
