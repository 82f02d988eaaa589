import type { Json } from '../core/index.ts'
import type { Tracer } from './traces/tracer.ts'

/** Who a client is, and how it deals with the server. Everything has a default. */
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
  /**
   * Told of what is worth a line in a log: that nobody answers, reconnects, a lost session, a result that is not told. Never
   * a secret. Default: a warning of the process (`BatonNotice`), which Node writes to stderr.
   */
  readonly onNotice?: (notice: string) => void
  /**
   * Makes a span of every ask and of what is done under a grant, with OpenTelemetry. Default: the tracer `baton` of
   * `@opentelemetry/api`, where the application has that package and has registered a provider. False: no spans.
   */
  readonly tracer?: Tracer | false
}

/** What `open` takes. */
export interface OpenOptions extends ConnectOptions {
  /** The largest result that is told to others, in bytes of JSON: of a server it is a setting. Default: 16384, up to 262144. */
  readonly resultLimit?: number
}

/**
 * Without a server: `wait` within the wait limit; `fail` with an `UnavailableError` after some seconds of trying; or
 * `run` anyway, without a grant (the context says so: its fence is 0).
 */
export type WhenUnavailable = 'wait' | 'fail' | 'run'

/** What every ask for a grant may say. Everything has a default. */
export interface AskOptions {
  /** Default: the client's own. */
  readonly namespace?: string
  /**
   * Only to enter a grant again: an open grant, or the owner of one of this node. Default: a fresh one, which excludes all
   * others.
   */
  readonly owner?: string | { readonly owner: string; readonly node?: string }
  /**
   * How long it may take until the work begins: then the code `wait-over`, or `unavailable` where no server answers. Default:
   * without limit. 0: does not stand in line (the code `busy`), and waits for a second at most for somebody to answer.
   */
  readonly waitMs?: number
  /** What version of the work it is about. */
  readonly revision?: string
  /** Disbelieve whatever is kept now, and one's own `verify`; a success that comes while it waits is believed. */
  readonly force?: boolean
  /** False: neither a success nor a skip adds this node to the references. */
  readonly reference?: boolean
  /** Drop this node's own reference in the same step, even if the ask is refused `in-use`. Default: true for `delete`. */
  readonly dropReference?: boolean
  /** False: refuse at once where it is busy. */
  readonly queueing?: boolean
  /** Gives the ask up: it leaves the queue. Once it is granted, this aborts the grant's own signal too. */
  readonly signal?: AbortSignal
  /** What to do while no server answers. Default: as the client was told. */
  readonly whenUnavailable?: WhenUnavailable
  /** Told of the place in line, and again when it is seen to have changed; 1 is next. */
  readonly onQueued?: (position: number) => void
  /** Told how far the one is that it waits for, once a second at most. */
  readonly onProgress?: (progress: Json) => void
  /** How often to look for the place anew, at the price of a request. Default: about once in the life of a lease. */
  readonly placeEveryMs?: number
}

/** When `verify` is asked. */
export type VerifyWhen = 'before' | 'skip' | 'grant'

/** What `run` may say beside. */
export interface RunOptions extends AskOptions {
  /**
   * Whether the work is there already. Runs before asking, on a skip, and after a grant, and is told which of these it is: on
   * a `skip` the work is somewhere, and storage that shows it late may be given some time.
   */
  readonly verify?: (when: VerifyWhen) => boolean | Promise<boolean>
  /**
   * How long a success is good for those who ask later, counted from when the work began. Default: as the row of the
   * operation says, counted from its end.
   */
  readonly keepMs?: number
}

/** What `once` may say. */
export interface OnceOptions extends Omit<RunOptions, 'reference' | 'dropReference'> {
  /**
   * How long a success of this call is good for those who ask later, whatever they say; counted from when the work began.
   * Default: 0, it is only for those who waited.
   */
  readonly keepMs?: number
}

/** What `lock` may say. */
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

/** What `lead` may say. */
export interface LeadOptions
  extends Pick<AskOptions, 'namespace' | 'waitMs' | 'onQueued' | 'onProgress' | 'placeEveryMs'> {
  /** Stops it: a standby leaves the line and resolves to `undefined`; of a leader it aborts the callback's own signal. */
  readonly signal?: AbortSignal
  /** While no server answers: stand on (default), or give up. Nobody leads without a grant. */
  readonly whenUnavailable?: 'wait' | 'fail'
}

/** What a success may say beside its result. */
export interface SuccessOptions {
  /** Nothing was to be done: the success changes nothing. */
  readonly effect?: 'none' | undefined
  /** How long it is good for those who ask later. Default: as the row of the operation says. */
  readonly keepMs?: number | undefined
}
