import type { ErrorBody, ErrorCode } from '@baton-lock/protocol'

/** The base class of Baton's errors; `code` is stable. */
export class BatonError extends Error {
  override readonly name: string = 'BatonError'
  readonly code:
    | ErrorCode
    | 'unavailable'
    | 'grant-lost'
    | 'failed-for-good'
    | 'skipped'
    | 'aborted'
    | 'closed'
    | 'ended'
    | 'store-unusable'

  constructor(code: BatonError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

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
    { isAnnounced = false, ...options }: ErrorOptions & { readonly isAnnounced?: boolean } = {},
  ) {
    super('unavailable', message, options)
    this.isAnnounced = isAnnounced
  }
}

/** The grant was lost while the work ran: another node may be doing it now. */
export class GrantLostError extends BatonError {
  override readonly name = 'GrantLostError'
  constructor(message: string, options?: ErrorOptions) {
    super('grant-lost', message, options)
  }
}

/** Thrown for waiters: the work failed permanently, and is not tried again in this round. */
export class FailedForGoodError extends BatonError {
  override readonly name = 'FailedForGoodError'
  readonly by: string
  readonly permanent: boolean
  /** The span in which it failed, if that was recorded. */
  readonly traceparent: string | undefined
  constructor({
    by,
    error,
    permanent,
    traceparent,
  }: { by: string; error: string; permanent: boolean; traceparent?: string }) {
    super('failed-for-good', `${by} failed for good: ${error}`)
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
  constructor({ by, fence, result }: { readonly by?: string; readonly fence: number; readonly result?: unknown }) {
    super('skipped', by === undefined ? 'done already' : `done already by ${by}`)
    this.by = by
    this.fence = fence
    this.result = result
  }
}

/** Throw this, or anything with `permanent: true`, from a callback if another attempt would not help: the waiters fail too. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly permanent = true
}
