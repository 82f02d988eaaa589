import type { ErrorBody, ErrorCode } from '../protocol/index.ts'

/** The base of everything that Baton throws; `code` is stable. */
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

/** A call with an argument that cannot be meant: the message names it. */
export class ArgumentError extends TypeError {
  override readonly name = 'ArgumentError'
  readonly code = 'bad-argument'
}

/** Baton said no: `busy`, `in-use`, `wait-over`, `unauthorised`, … */
export class RefusedError extends BatonError {
  override readonly name = 'RefusedError'
  declare readonly code: ErrorCode
}

/** A refusal as it is thrown. */
export function refusedError({ code, message }: ErrorBody): RefusedError {
  return new RefusedError(code, message)
}

/** No server or store answered. */
export class UnavailableError extends BatonError {
  override readonly name = 'UnavailableError'
  /** A server had said that it is about to stop, and this follows from it. */
  readonly isAnnounced: boolean

  constructor(
    message: string,
    { isAnnounced = false, ...options }: ErrorOptions & { readonly isAnnounced?: boolean } = {},
  ) {
    super('unavailable', message, options)
    this.isAnnounced = isAnnounced
  }
}

/** The grant was lost while the work ran: somebody else may be doing it now. */
export class GrantLostError extends BatonError {
  override readonly name = 'GrantLostError'
  constructor(message: string, options?: ErrorOptions) {
    super('grant-lost', message, options)
  }
}

/** Told to a waiter: the work has failed for good, nobody will try it again in this round. */
export class FailedForGoodError extends BatonError {
  override readonly name = 'FailedForGoodError'
  readonly by: string
  readonly permanent: boolean
  /** The span in which it failed, where that has one. */
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

/** Thrown by `acquire` where the work has been done already. */
export class SkippedError extends BatonError {
  override readonly name = 'SkippedError'
  readonly by: string | undefined
  /** Of the success that it rests on; 0 where it rests on references alone. */
  readonly fence: number
  readonly result: unknown
  constructor({ by, fence, result }: { readonly by?: string; readonly fence: number; readonly result?: unknown }) {
    super('skipped', by === undefined ? 'done already' : `done already by ${by}`)
    this.by = by
    this.fence = fence
    this.result = result
  }
}

/** Throw this (or anything with `permanent: true`) from a callback: no other try would do better, the queue ends. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  readonly permanent = true
}
