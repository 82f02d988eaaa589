import type { Json } from '@baton-lock/core'
import type { Tracer } from './traces/tracer.ts'

/** Options of a client. All have a default. */
export interface ConnectOptions {
  /** The id of this machine. Default: its host name. */
  readonly node?: string
  /** Default: `default`. */
  readonly namespace?: string
  /** The lease: how long the server keeps this client's grants and places without a renewal. Default: 30 s. */
  readonly ttlMs?: number
  /**
   * A request for a lock inside the callback that holds it, without `owner`: a `notice` at once, with the stacks of both, or `throw` a
   * `DeadlockError`. With either, a lock in process takes 1.7 times as long on Node 20. Default: a notice after it has waited for about a ttl.
   */
  readonly deadlock?: DeadlockMode
  /** Sent as a bearer token. */
  readonly token?: string
  /** What to do if no server answers. Calls have this option too. Default: `wait`. */
  readonly whenUnavailable?: WhenUnavailable
  /** For `https:` servers: trusted authorities, and for mutual TLS the certificate and key of this client. PEM. */
  readonly tls?: { readonly ca?: string | Buffer; readonly cert?: string | Buffer; readonly key?: string | Buffer }
  /**
   * Called with what is worth a line in a log: that no server answers, a reconnection, a lost session, a result that is omitted.
   * Never a secret. Default: a warning of the process (`BatonNotice`), which Node writes to stderr.
   */
  readonly onNotice?: (notice: string) => void
  /**
   * Records a span for every request for a grant and for the work under it, with OpenTelemetry. Default: the tracer `baton` of
   * `@opentelemetry/api`, if the application has that package and has registered a provider. `false`: no spans.
   */
  readonly tracer?: Tracer | false
}

/** What to do about a request that would wait for itself. */
export type DeadlockMode = 'notice' | 'throw'

/** Options of `open`. */
export interface OpenOptions extends ConnectOptions {
  /** The largest result that others get, in bytes of JSON; for servers it is a setting. Default: 16384, at most 262144. */
  readonly resultLimit?: number
}

/**
 * If no server answers: `wait` within the wait limit, `fail` with an `UnavailableError` after some seconds, or `run` without a grant
 * (the fence is 0 then).
 */
export type WhenUnavailable = 'wait' | 'fail' | 'run'

/** Options of a request for a grant. All have a default. */
export interface AskOptions {
  /** Default: the client's. */
  readonly namespace?: string
  /**
   * To enter a grant again: that grant, or the owner of a grant of this node. Default: a new owner, which excludes all others.
   */
  readonly owner?: string | { readonly owner: string; readonly node?: string }
  /**
   * How long to wait until the work begins. Then the code is `wait-over`, or `unavailable` if no server answers. Default: no limit.
   * 0: fails at once with the code `busy` instead of waiting, and waits for a reply for one second at most.
   */
  readonly waitMs?: number
  /** The version of the work. */
  readonly revision?: string
  /** Ignores what is kept now, and `verify`; a success that comes while it waits counts. */
  readonly force?: boolean
  /** `false`: neither a success nor a skip adds this node to the references. */
  readonly reference?: boolean
  /** Drops this node's reference in the same step, even if the request is refused `in-use`. Default: true for `delete`. */
  readonly dropReference?: boolean
  /** `false`: refused at once with `busy` instead of waiting. */
  readonly queueing?: boolean
  /** Gives the request up: it leaves the queue. Once it is granted, this aborts the signal of the grant. */
  readonly signal?: AbortSignal
  /** What to do if no server answers. Default: the option of the client. */
  readonly whenUnavailable?: WhenUnavailable
  /** Called with the position in the queue, and again when a change is noticed; 1 is next. */
  readonly onQueued?: (position: number) => void
  /** Called with the progress of the holder, once a second at most. */
  readonly onProgress?: (progress: Json) => void
  /**
   * The longest time that it may be held. Then the signal aborts with a `HoldLimitError`, and when the callback has ended, the grant
   * is released as a failure. Default: no limit.
   */
  readonly maxHoldMs?: number
  /**
   * With `maxHoldMs`: releases the grant so long after the limit even if the callback goes on, beside the next holder. Unsafe unless
   * what it writes to checks fences. Default: never, the grant is kept until the callback has ended.
   */
  readonly graceMs?: number
  /** How often to look up the position, which takes a request. Default: about once per lease. */
  readonly placeEveryMs?: number
}

/** When `verify` is called. */
export type VerifyWhen = 'before' | 'skip' | 'grant'

/** Further options of `run`. */
export interface RunOptions extends AskOptions {
  /**
   * Whether the work is there already. Called before the request, on a skip, and after the grant, with the name of that moment. On a
   * `skip` the work is somewhere: give storage some time if it may show it late.
   */
  readonly verify?: (when: VerifyWhen) => boolean | Promise<boolean>
  /**
   * How long the success is kept for later requests, from the beginning of the work. Default: as the row of the operation says,
   * from its end.
   */
  readonly keepMs?: number
}

/** Options of `once`. */
export interface OnceOptions extends Omit<RunOptions, 'reference' | 'dropReference'> {
  /**
   * How long a success of this call is kept for later requests, whatever their own options, from the beginning of the work.
   * Default: 0, only for those who waited.
   */
  readonly keepMs?: number
}

/** Options of `lock`. */
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
    | 'maxHoldMs'
    | 'graceMs'
  > {}

/** Options of `tryLock`. */
export interface TryLockOptions
  extends Pick<LockOptions, 'namespace' | 'owner' | 'signal' | 'whenUnavailable' | 'maxHoldMs' | 'graceMs'> {}

/** Options of `lead`. */
export interface LeadOptions
  extends Pick<
    AskOptions,
    'namespace' | 'waitMs' | 'onQueued' | 'onProgress' | 'placeEveryMs' | 'maxHoldMs' | 'graceMs'
  > {
  /** Stops it: a standby leaves the queue and resolves to `undefined`; for a leader, it aborts the signal of the callback. */
  readonly signal?: AbortSignal
  /** If no server answers: go on (default), or give up. Nobody leads without a grant. */
  readonly whenUnavailable?: 'wait' | 'fail'
}

/** Options of a success. */
export interface SuccessOptions {
  /** There was nothing to do: the success changes nothing. */
  readonly effect?: 'none' | undefined
  /** How long it is kept for later requests. Default: as the row of the operation says. */
  readonly keepMs?: number | undefined
}
