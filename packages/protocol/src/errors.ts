import type { RefusalCode } from '@baton-lock/core'

interface ErrorRow {
  /** The HTTP status that carries it. */
  readonly status: number
  /** Whether the same request may succeed later without being changed. */
  readonly retryable: boolean
  /** What happened and what to do, in a sentence. */
  readonly meaning: string
}

type ServiceErrorCode =
  | 'bad-request'
  | 'not-found'
  | 'method-not-allowed'
  | 'too-large'
  | 'unauthorised'
  | 'foreign-page'
  | 'unknown-host'
  | 'policy-changed'
  | 'not-read'
  | 'too-many-streams'
  | 'draining'
  | 'store-unavailable'
  | 'unknown-outcome'
  | 'internal'

/** Every code that a request can be answered with; codes are stable. */
export type ErrorCode = RefusalCode | ServiceErrorCode

/** Every code that a request can be answered with. docs/protocol.md shows this table; a test compares the two. */
export const errors: Readonly<Record<ErrorCode, ErrorRow>> = {
  busy: {
    status: 409,
    retryable: true,
    meaning: 'Another owner holds it, and this request does not wait; ask again later, or let it queue.',
  },
  'in-use': {
    status: 409,
    retryable: true,
    meaning: inUse('the operation'),
  },
  'held-by-you': {
    status: 409,
    retryable: true,
    meaning: 'The same owner holds the resource under another operation; release that first.',
  },
  'queue-full': { status: 429, retryable: true, meaning: 'The queue is at its limit; ask again later.' },
  'quota-exceeded': {
    status: 429,
    retryable: true,
    meaning:
      'The node, the token or the owner has as much of this as one may have; let go of some of it, then ask again.',
  },
  'passed-over': {
    status: 409,
    retryable: true,
    meaning: 'The grant was not claimed in time and has passed on; ask anew with a new hold id.',
  },
  'wait-over': { status: 409, retryable: true, meaning: 'The wait limit is over; ask again or wait longer.' },
  cancelled: { status: 409, retryable: false, meaning: 'This ask was taken back; ask anew with a new hold id.' },
  'hold-ended': {
    status: 409,
    retryable: false,
    meaning: 'This hold was released already; ask anew with a new hold id.',
  },
  'unknown-operation': {
    status: 422,
    retryable: false,
    meaning:
      'The policy table has no such operation; use lock, once, lead, pull, update or delete, or add a row with `baton policy set`.',
  },
  'not-holder': { status: 403, retryable: false, meaning: 'Another owner or hold has it; nothing was changed.' },
  'stale-fence': {
    status: 403,
    retryable: false,
    meaning: 'The fence is not that of the present grant; nothing was changed.',
  },
  'unknown-grant': {
    status: 403,
    retryable: false,
    meaning: 'Nothing is held there; the grant has ended or never was.',
  },
  'session-lost': {
    status: 410,
    retryable: false,
    meaning: 'The session has ended or never was; open a new one and ask anew.',
  },
  'bad-request': {
    status: 400,
    retryable: false,
    meaning: 'The request is not as the interface asks; see /openapi.json.',
  },
  'not-found': {
    status: 404,
    retryable: false,
    meaning: 'There is nothing at this path; see /openapi.json for those that are.',
  },
  'method-not-allowed': {
    status: 405,
    retryable: false,
    meaning: 'The path does not take this method; see /openapi.json.',
  },
  'too-large': {
    status: 413,
    retryable: false,
    meaning: 'The request, or the result in it, is larger than the server takes; send less.',
  },
  unauthorised: { status: 401, retryable: false, meaning: 'A token is needed; send it as `Authorization: Bearer …`.' },
  forbidden: { status: 403, retryable: false, meaning: 'The token does not allow this.' },
  'foreign-page': {
    status: 403,
    retryable: false,
    meaning:
      'A web page of another origin sent this (`Origin`, `Sec-Fetch-Site`); ask from a page of this server, or from a program that sends neither. A proxy has to pass `Host` on.',
  },
  'unknown-host': {
    status: 421,
    retryable: false,
    meaning:
      'The server has no tokens, and does not know the name in `Host`; use its IP address or localhost, or start it with `--allowed-host NAME`.',
  },
  'policy-changed': {
    status: 409,
    retryable: false,
    meaning: 'The policy has another version now; read it and apply your change to that.',
  },
  'not-read': {
    status: 429,
    retryable: true,
    meaning:
      'What comes before it in the batch is as much as one reply may tell; ask for the rest in another batch, or each by itself.',
  },
  'too-many-streams': {
    status: 429,
    retryable: true,
    meaning: 'The server has no room for another stream; close some or try later.',
  },
  draining: {
    status: 503,
    retryable: true,
    meaning: 'The server is about to stop, and opens no more streams; go to another one, or come back.',
  },
  'store-unavailable': {
    status: 503,
    retryable: true,
    meaning: 'The store cannot be reached or cannot write; nothing was changed. Try again.',
  },
  'unknown-outcome': {
    status: 503,
    retryable: true,
    meaning: 'The store did not say whether the change was made; ask again with the same hold id to find out.',
  },
  internal: { status: 500, retryable: true, meaning: 'A defect in the server; its log has more.' },
}

/** What an unsuccessful request is answered with. */
export interface ErrorBody {
  readonly status: 'refused'
  readonly code: ErrorCode
  readonly message: string
}

export function errorBody(code: ErrorCode, message: string = errors[code].meaning): ErrorBody {
  return { status: 'refused', code, message }
}

const DELETE_IN_USE =
  'Nodes still use the resource: it can be deleted when they have dropped their references. A delete drops that of its own node even when it is refused.'

/** The refusal of an ask: what `in-use` means to it depends on its operation. */
export function refusalOf(code: ErrorCode, operation: string): ErrorBody {
  if (code !== 'in-use') return errorBody(code)
  if (operation === 'delete') return errorBody(code, DELETE_IN_USE)
  return errorBody(code, inUse(operation))
}

function inUse(operation: string): string {
  return `Nodes still use the resource, and ${operation} is refused while they do; ask again when they have dropped their references.`
}
