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
  /** How long to stand in line, from now on. Default: without limit. 0: do not wait. */
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
  /** Gives the ask up: it leaves the queue. */
  readonly signal?: AbortSignal
  readonly whenUnavailable?: WhenUnavailable
  /** Told of the place in line, and again when it is seen to have changed; 1 is next. */
  readonly onQueued?: (position: number) => void
  /** Told how far the one is that it waits for, once a second at most. */
  readonly onProgress?: (progress: Json) => void
  /** How often to look for the place anew, at the price of a request. Default: about once in the life of a lease. */
  readonly placeEveryMs?: number
}

/** What a callback may return: the result that others are told, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a callback without a return statement is a good one.
export type Returned = Json | undefined | void

export interface RunOptions extends AskOptions {
  /** Whether the work is there already. Runs before asking, on a skip, and after a grant. */
  readonly verify?: () => boolean | Promise<boolean>
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
  /** Aborts, with a `GrantLostError`, when the grant is lost. */
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

export type Performed<Result> = {
  readonly status: 'performed'
  readonly result: Result
  readonly fence: number
  readonly by: string
  readonly at: Date
}
export type Skipped<Result> = {
  readonly status: 'skipped'
  /** As the one that did it returned it, where it is known. */
  readonly result: Result | undefined
  readonly fence: number
  /** The node that did it; absent where the skip rests on references or on `verify` alone. */
  readonly by: string | undefined
  readonly at: Date | undefined
}
export type Done<Result> = Performed<Result> | Skipped<Result>

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
  /** Reports the outcome and lets go. The first report counts; more of them change nothing. */
  succeed(result?: Json, options?: { readonly effect?: 'none' }): Promise<void>
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
  /**
   * Does the work once in the whole cluster: runs the callback under a grant, or skips because it has been done. An
   * error that the callback throws is reported as the failure and rethrown as it is.
   */
  run<Result extends Returned>(
    operation: string,
    resource: string,
    callback: (context: RunContext) => Result | Promise<Result>,
    options?: RunOptions,
  ): Promise<Done<Result>>
  /** The grant itself, or the skip, for those who do not want a callback. */
  tryAcquire(operation: string, resource: string, options?: AskOptions): Promise<Grant | Skipped<Json>>
  /** The grant itself; a skip is thrown as a `SkippedError`. */
  acquire(operation: string, resource: string, options?: AskOptions): Promise<Grant>
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
