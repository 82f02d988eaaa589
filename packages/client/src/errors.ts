import { type ErrorBody, type ErrorCode, formatDuration } from '@baton-lock/protocol'
import { type LossCause, lossText } from './loss.ts'

/** What an error is about. Only what is known is set. */
export interface ErrorSubject {
  readonly namespace?: string | undefined
  readonly operation?: string | undefined
  readonly resource?: string | undefined
  /** The node that holds what was requested. */
  readonly holder?: string | undefined
  /** For how long it has held it. */
  readonly heldForMs?: number | undefined
  /** The last known position in the queue; 1 is next. */
  readonly position?: number | undefined
}

/** The base class of Baton's errors; `code` is stable. */
export class BatonError extends Error {
  override readonly name: string = 'BatonError'
  readonly code:
    | ErrorCode
    | 'unavailable'
    | 'grant-lost'
    | 'held-too-long'
    | 'deadlock'
    | 'failed-for-good'
    | 'skipped'
    | 'aborted'
    | 'closed'
    | 'ended'
    | 'store-unusable'
  declare readonly namespace?: string
  declare readonly operation?: string
  declare readonly resource?: string
  /** The node that holds what was requested, if it is known. */
  declare readonly holder?: string
  /** For how long it has held it. */
  declare readonly heldForMs?: number
  /** The last known position in the queue; 1 is next. */
  declare readonly position?: number

  constructor(code: BatonError['code'], message: string, { cause, ...subject }: ErrorOptions & ErrorSubject = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    for (const name of SUBJECT) if (subject[name] !== undefined) Object.assign(this, { [name]: subject[name] })
  }
}

const SUBJECT = ['namespace', 'operation', 'resource', 'holder', 'heldForMs', 'position'] as const

/** An invalid argument; the message names it. */
export class ArgumentError extends TypeError {
  override readonly name = 'ArgumentError'
  readonly code = 'bad-argument'
}

/** Baton refused: `busy`, `in-use`, `wait-over`, `unauthorised`, … */
export class RefusedError extends BatonError {
  override readonly name = 'RefusedError'
  declare readonly code: ErrorCode
}

/** A refusal as an error. */
export function refusedError({ code, message }: ErrorBody): RefusedError {
  return new RefusedError(code, message)
}

/** No server or store answered. */
export class UnavailableError extends BatonError {
  override readonly name = 'UnavailableError'
  /** It follows from the stop of a server that had announced it. */
  readonly isAnnounced: boolean

  constructor(
    message: string,
    { isAnnounced = false, ...options }: ErrorOptions & ErrorSubject & { readonly isAnnounced?: boolean } = {},
  ) {
    super('unavailable', message, options)
    this.isAnnounced = isAnnounced
  }
}

/** The grant was lost while the work ran: another node may be doing it now. */
export class GrantLostError extends BatonError {
  override readonly name = 'GrantLostError'
  /** Why, by kind. */
  declare readonly cause: LossCause
  /** What the callback threw after the loss. */
  declare readonly callbackError?: unknown

  constructor(
    cause: LossCause,
    {
      callbackError,
      note,
      ...subject
    }: ErrorSubject & { readonly callbackError?: unknown; readonly note?: string | undefined } = {},
  ) {
    const text = `lost the grant: ${lossText(cause)}${note === undefined ? '' : `; ${note}`}`
    super('grant-lost', aboutSubject(subject, text), { cause, ...subject })
    if (callbackError !== undefined) this.callbackError = callbackError
  }
}

/** The grant was held for longer than `maxHoldMs`: the work has to stop, and its grant ends as a failure. */
export class HoldLimitError extends BatonError {
  override readonly name = 'HoldLimitError'
  readonly maxHoldMs: number
  /** What the callback threw after that. */
  declare readonly callbackError?: unknown

  constructor(
    maxHoldMs: number,
    { callbackError, ...subject }: ErrorSubject & { readonly callbackError?: unknown } = {},
  ) {
    const text = `held for longer than its limit of ${formatDuration(maxHoldMs)}`
    super('held-too-long', aboutSubject(subject, text), subject)
    this.maxHoldMs = maxHoldMs
    if (callbackError !== undefined) this.callbackError = callbackError
  }
}

/** A request inside the callback that holds the same lock would wait for itself. `cause` has the stack of the holder. */
export class DeadlockError extends BatonError {
  override readonly name = 'DeadlockError'
  constructor(message: string, options: ErrorOptions & ErrorSubject) {
    super('deadlock', message, options)
  }
}

/** Thrown for waiters: the work failed permanently, and is not tried again in this round. */
export class FailedForGoodError extends BatonError {
  override readonly name = 'FailedForGoodError'
  readonly by: string
  readonly permanent: boolean
  /** The span in which it failed, if that was recorded. */
  readonly traceparent: string | undefined
  constructor(
    { by, error, permanent, traceparent }: { by: string; error: string; permanent: boolean; traceparent?: string },
    subject: ErrorSubject = {},
  ) {
    super('failed-for-good', aboutSubject(subject, `${by} failed for good: ${error}`), subject)
    this.by = by
    this.permanent = permanent
    this.traceparent = traceparent
  }
}

/** Thrown by `acquire` if the work was done already. */
export class SkippedError extends BatonError {
  override readonly name = 'SkippedError'
  readonly by: string | undefined
  /** The fence of that success; 0 if the skip rests on references alone. */
  readonly fence: number
  readonly result: unknown
  constructor(
    { by, fence, result }: { readonly by?: string; readonly fence: number; readonly result?: unknown },
    subject: ErrorSubject = {},
  ) {
    super('skipped', aboutSubject(subject, by === undefined ? 'done already' : `done already by ${by}`), subject)
    this.by = by
    this.fence = fence
    this.result = result
  }
}

/**
 * The same error with what it is about, and with the stack of its callers: what a reply or a timer brings has none. Other errors than
 * these are returned as they are.
 */
export function errorAbout(error: unknown, subject: ErrorSubject, text?: string): unknown {
  if (!(error instanceof BatonError)) return error
  const message = aboutSubject(subject, text ?? error.message)
  const { cause } = error
  if (error instanceof UnavailableError) {
    return new UnavailableError(message, { cause, ...subject, isAnnounced: error.isAnnounced })
  }
  if (error instanceof RefusedError) return new RefusedError(error.code, message, { cause, ...subject })
  return error.code === 'closed' ? new BatonError('closed', message, subject) : error
}

/** Throw this, or anything with `permanent: true`, from a callback if another attempt would not help: the waiters fail too. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly permanent = true
}

/** A message that begins with what it is about: `lock ledger: …`. */
export function aboutSubject({ namespace, operation, resource }: ErrorSubject, text: string): string {
  if (resource === undefined) return text
  const what = operation === undefined ? resource : `${operation} ${resource}`
  return namespace === undefined || namespace === 'default'
    ? `${what}: ${text}`
    : `${what} (namespace ${namespace}): ${text}`
}
