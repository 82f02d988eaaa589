/** The status codes of gRPC. */
export const STATUS = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const

/** How a call ends. */
export interface Status {
  readonly code: number
  readonly message: string
}

/** Ends a call with this status when a method throws it. Also the reason with which a cancelled call aborts its signal. */
export class CallError extends Error implements Status {
  override readonly name = 'CallError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** A character takes at most 9 bytes when it is encoded, so the trailers always fit into one frame of 16 KiB. */
const MESSAGE_MAX = 1_000

export function trailersOf({ code, message }: Status): Record<string, string> {
  return { 'grpc-status': String(code), ...(message !== '' && { 'grpc-message': percentEncoded(message) }) }
}

/** gRPC leaves printable ASCII as it is, except for the percent sign. */
function percentEncoded(message: string): string {
  return message
    .slice(0, MESSAGE_MAX)
    .toWellFormed()
    .replace(/[^ -$&-~]+/g, encodeURIComponent)
}
