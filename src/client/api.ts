import type { GrantView, Json, Policy, PreviousAttempt, ResourceView, WaiterView } from '../core/index.ts'
import type { WireEvent } from '../protocol/index.ts'

export interface ConnectOptions {
  /** Who asks: a machine, by id. Default: the host name. */
  readonly node?: string
  /** Default: `default`. */
  readonly namespace?: string
  /** How long the server keeps this client's grants and places in line without a sign of life. Default: 30 s. */
  readonly ttlMs?: number
  /** Sent as a bearer token. */
  readonly token?: string
  /** What to do while no server answers; can be said for each call too. Default: `wait`. */
  readonly whenUnavailable?: WhenUnavailable
  /** With `open` only: the largest result that is told to others, in bytes of JSON. Default: 16384, up to 262144. */
  readonly resultLimit?: number
  /** For `https:` servers: what to trust, and for mutual TLS who this is. PEM. */
  readonly tls?: { readonly ca?: string | Buffer; readonly cert?: string | Buffer; readonly key?: string | Buffer }
  /** Told of what is worth a line in a log: reconnects, a lost session. Never a secret. */
  readonly onNotice?: (notice: string) => void
}

/**
 * Without a server: `wait` within the wait limit; `fail` with an `UnavailableError` after some seconds of trying; or
 * `run` anyway, without a grant (the context says so: its fence is 0).
 */
export type WhenUnavailable = 'wait' | 'fail' | 'run'

export interface AskOptions {
  readonly namespace?: string
  /**
   * Only to enter a grant again: an open grant, or the owner of one of this node. Default: a fresh one, which excludes all
   * others.
   */
  readonly owner?: string | { readonly owner: string; readonly node?: string }
  /**
   * How long it may take until the work begins, also where no server answers. Default: without limit. 0: does not stand in
   * line, and waits for a second at most for somebody to answer.
   */
  readonly waitMs?: number
  /** What version of the work it is about. */
  readonly revision?: string
  /** Disbelieve whatever is kept now, and one's own `verify`; a success that comes while it waits is believed. */
  readonly force?: boolean
  /** False: neither a success nor a skip adds this node to the references. */
  readonly reference?: boolean
  /** Drop this node's own reference in the same step. Default: true for `delete`. */
  readonly dropReference?: boolean
  /** False: refuse at once where it is busy. */
  readonly queueing?: boolean
  /** Gives the ask up: it leaves the queue. Once it is granted, this aborts the grant's own signal too. */
  readonly signal?: AbortSignal
  readonly whenUnavailable?: WhenUnavailable
  /** Told of the place in line, and again when it is seen to have changed; 1 is next. */
  readonly onQueued?: (position: number) => void
  /** Told how far the one is that it waits for, once a second at most. */
  readonly onProgress?: (progress: Json) => void
  /** How often to look for the place anew, at the price of a request. Default: about once in the life of a lease. */
  readonly placeEveryMs?: number
}

export interface RunOptions extends AskOptions {
  /** Whether the work is there already. Runs before asking, on a skip, and after a grant. */
  readonly verify?: () => boolean | Promise<boolean>
  /** How long a success is good for those who ask later. Default: as the row of the operation says. */
  readonly keepMs?: number
}

export interface OnceOptions extends Omit<RunOptions, 'reference' | 'dropReference'> {
  /** How long a success is good for those who ask later. Default: 0, it is only for those who waited. */
  readonly keepMs?: number
}

export interface LockOptions
  extends Pick<
    AskOptions,
    | 'namespace'
    | 'owner'
    | 'waitMs'
    | 'queueing'
    | 'signal'
    | 'whenUnavailable'
    | 'onQueued'
    | 'onProgress'
    | 'placeEveryMs'
  > {}

export interface LeadOptions
  extends Pick<AskOptions, 'namespace' | 'waitMs' | 'signal' | 'onQueued' | 'onProgress' | 'placeEveryMs'> {
  /** While no server answers: stand on (default), or give up. Nobody leads without a grant. */
  readonly whenUnavailable?: 'wait' | 'fail'
}

/** What a callback gets. */
export interface RunContext {
  readonly node: string
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
  readonly node: string
  readonly owner: string
  /** Rises with every leader: give it to whatever the leader writes to. */
  readonly fence: number
  /** Aborts when it does not lead any more, or is asked to stop. It has to stop then: another may lead already. */
  readonly signal: AbortSignal
}

/** Who leads at the moment. */
export interface Leader {
  readonly node: string
  readonly fence: number
  readonly since: Date
}

/** The work was done here. */
export type Performed<Result> = {
  readonly status: 'performed'
  readonly result: Result
  readonly fence: number
  readonly by: string
  readonly at: Date
}
/** The work has been done already, by somebody else. */
export type Skipped<Result> = {
  readonly status: 'skipped'
  /** As the one that did it returned it, as JSON; absent where it returned nothing or is not known. */
  readonly result: Result | undefined
  /** It returned something that is too large to be told, or not JSON. */
  readonly resultOmitted: boolean
  readonly fence: number
  /** The node that did it; absent where the skip rests on references or on `verify` alone. */
  readonly by: string | undefined
  readonly at: Date | undefined
}
export type Done<Result> = Performed<Result> | Skipped<Result>

export interface SuccessOptions {
  /** Nothing was to be done: the success changes nothing. */
  readonly effect?: 'none' | undefined
  /** How long it is good for those who ask later. Default: as the row of the operation says. */
  readonly keepMs?: number | undefined
}

/** A lock that is held. Leaving its scope releases it, whatever has happened there. */
export interface Lock extends AsyncDisposable {
  readonly resource: string
  readonly node: string
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
  readonly status: 'granted'
  readonly operation: string
  readonly resource: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined
  /** Aborts, with a `GrantLostError`, when the grant is lost. */
  readonly signal: AbortSignal
  waiters(): Promise<readonly WaiterView[]>
  holders(): Promise<readonly GrantView[]>
  progress(progress: Json): void
  /** Reports the outcome and lets go. The first report counts; another one after it throws. */
  succeed(result?: unknown, options?: SuccessOptions): Promise<void>
  fail(error: unknown, options?: { readonly permanent?: boolean }): Promise<void>
  cancel(): Promise<void>
}

export interface References {
  list(resource: string, options?: { readonly namespace?: string }): Promise<readonly string[]>
  add(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  release(resource: string, options?: { readonly namespace?: string; readonly node?: string }): Promise<number>
  /** A dead node: all of its references go. Returns how many resources that touched. */
  dropNode(node: string, options?: { readonly namespace?: string }): Promise<number>
}

export interface Baton extends AsyncDisposable {
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
   * lost, it stands again by itself once the callback has stopped.
   */
  lead<Result>(
    name: string,
    callback: (context: LeadContext) => Result | Promise<Result>,
    options?: LeadOptions,
  ): Promise<Result>
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
  readonly references: References
  /** Of those who wait it has the first thousand: `waiters` has them all. */
  status(resource: string, options?: { readonly namespace?: string }): Promise<ResourceView>
  /** Who waits in all queues of a resource, all of them, oldest first. */
  waiters(resource: string, options?: { readonly namespace?: string }): Promise<readonly WaiterView[]>
  /** All resources that are not idle, a page at a time. */
  list(options?: {
    readonly namespace?: string
    readonly prefix?: string
    readonly node?: string
    readonly active?: boolean
  }): AsyncIterable<ResourceView>
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
  policy(): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Checks and completes the policy, and replaces the present one. */
  applyPolicy(policy: unknown, expectedVersion: number): Promise<{ readonly version: number; readonly policy: Policy }>
  /** Reports what is still open as failed, leaves all queues, ends the session. */
  close(): Promise<void>
}
