/** What can be told to others: results and progress. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * The span in which work was done, as `traceparent` of W3C Trace Context writes it. Nothing is decided by it: it is handed on, so that
 * whoever skips on the work, or tries it again, can say which it was.
 */
export type Traceparent = string

/** The work was done; `effect: none`: there was nothing to do. */
export type SuccessOutcome = {
  readonly outcome: 'success'
  readonly result?: Json
  /** There is a result, but none that can be told: it is too large, or not JSON. */
  readonly resultOmitted?: true
  readonly effect?: 'none'
  /** How long it is good, as the one that did it says; absent: as the table says. */
  readonly keepMs?: number
  readonly traceparent?: Traceparent
}
/** The work failed; `permanent`: no other try would do better, and the queue ends. */
type FailureOutcome = {
  readonly outcome: 'failure'
  readonly error: string
  readonly permanent?: boolean
  readonly traceparent?: Traceparent
}
/** The holder gave up; the next in line goes on. */
type CancelledOutcome = { readonly outcome: 'cancelled' }

/** How a holder says that its grant ended. */
export type ReportedOutcome = SuccessOutcome | FailureOutcome | CancelledOutcome

/** How a grant ended: reported, run out (with why), or ended by an operator. */
export type Outcome =
  | ReportedOutcome
  | { readonly outcome: 'expired'; readonly error: string }
  | { readonly outcome: 'revoked'; readonly error: string; readonly by?: string }

/** Why the core says no. `errors` in the protocol says what each means. */
export type RefusalCode =
  | 'busy'
  | 'in-use'
  | 'held-by-you'
  | 'queue-full'
  | 'quota-exceeded'
  | 'passed-over'
  | 'wait-over'
  | 'cancelled'
  | 'hold-ended'
  | 'unknown-operation'
  | 'not-holder'
  | 'stale-fence'
  | 'unknown-grant'
  | 'session-lost'
  | 'forbidden'

/** How the attempt before this one ended. */
export interface PreviousAttempt {
  readonly node: string
  readonly outcome: Outcome['outcome']
  readonly error: string | undefined
  readonly traceparent?: Traceparent
}

/** The right to run the operation now. */
export interface Granted {
  readonly status: 'granted'
  readonly fence: number
  readonly attempt: number
  readonly previous?: PreviousAttempt
  readonly holds: number
}

/** A place in line; 1 is next. */
export interface Queued {
  readonly status: 'queued'
  readonly position: number
  /** How far the work under the blocking grant is, where its holder has said so. */
  readonly progress?: Json
}

/** 'This has been done already'. The fence is 0 where it rests on references alone, and then nobody is named. */
export interface Skip {
  readonly status: 'skip'
  readonly fence: number
  readonly by?: string
  readonly atMs?: number
  readonly result?: Json
  readonly resultOmitted?: true
  readonly effect?: 'none'
  readonly traceparent?: Traceparent
}

/** 'Failed for good': told to the waiters of a permanent failure, or when the attempts are used up. */
export interface Failed {
  readonly status: 'failed'
  readonly fence: number
  readonly by: string
  readonly error: string
  readonly permanent: boolean
  readonly attempts: number
  readonly traceparent?: Traceparent
}

/** No, and why. */
export interface Refused {
  readonly status: 'refused'
  readonly code: RefusalCode
}

/** The final answers of a waiter. */
export type Answer = Skip | Failed | Refused

/** What an ask is answered. */
export type AcquireReply = Granted | Queued | Answer

/** The hold has ended. */
export interface Released {
  readonly status: 'released'
  readonly outcome: Outcome['outcome']
  /** Holds that keep the grant alive; the last release decides the outcome. */
  readonly holdsLeft: number
}

/** What a release is answered. */
export type ReleaseReply = Released | Refused
/** What a renewal is answered. */
export type RenewReply = { readonly status: 'renewed'; readonly expiresInMs?: number } | Refused
/** What the ask was when it was taken back. */
export type CancelReply = { readonly status: 'cancelled'; readonly was: 'granted' | 'queued' | 'nothing' } | Refused
/** Whose grant was ended, or why none was. */
export type RevokeReply = { readonly status: 'revoked'; readonly fence: number; readonly node: string } | Refused
/** What a report of progress is answered. */
export type ProgressReply = { readonly status: 'noted' } | Refused
/** How many nodes reference the resource now. */
export type ReferencesReply = { readonly status: 'references'; readonly count: number } | Refused
/** Nothing was done: the references have changed since the number that was named. This is the present one. */
export type ChangedReply = { readonly status: 'changed'; readonly seen: number }
/** `kept`: there was something to drop. References, which it leaves alone, may be a reason to skip all the same. */
export type ForgetReply =
  | { readonly status: 'forgotten'; readonly kept: boolean; readonly references: number }
  | Refused
/** The answer to commands that are never refused. */
export type DoneReply = { readonly status: 'done' }

/** The span as replies and events carry it: absent where there is none. */
export function traceOf({ traceparent }: { readonly traceparent?: Traceparent | undefined }): {
  readonly traceparent?: Traceparent
} {
  return traceparent === undefined ? NO_TRACE : { traceparent }
}

const NO_TRACE = {}

/** A refusal with this code. */
export function refused(code: RefusalCode): Refused {
  return { status: 'refused', code }
}
