import { headerBlock } from './hpack-encoder.ts'

/** How a call ends (grpc.io: status codes). */
export interface Status {
  readonly code: number
  readonly message: string
}

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

/** Encoded; with it, trailers stay within one frame. */
const MESSAGE_MAX = 8_192

const CONTENT_TYPE = ['content-type', 'application/grpc'] as const

export const RESPONSE_HEAD = headerBlock([[':status', '200'], CONTENT_TYPE])

const OK = headerBlock([['grpc-status', '0']])

/** The trailers of an answer; where it has no head yet, they are the head too. */
export function trailersOf({ code, message }: Status, { isOnly }: { isOnly: boolean }): Buffer {
  if (code === STATUS.ok && !isOnly) return OK
  const trailers = headerBlock([
    ['grpc-status', String(code)],
    ...(message === '' ? [] : ([['grpc-message', percentEncoded(message)]] as const)),
  ])
  return isOnly ? Buffer.concat([RESPONSE_HEAD, trailers]) : trailers
}

/** An answer to what is no call of gRPC. */
export function httpAnswer(status: number): Buffer {
  return headerBlock([[':status', String(status)]])
}

/** As gRPC wants it; what is too long is cut off, between two characters. */
function percentEncoded(message: string): string {
  let encoded = ''
  for (const character of message) {
    const next = /^[ -$&-~]$/.test(character) ? character : escaped(character)
    if (encoded.length + next.length > MESSAGE_MAX) break
    encoded += next
  }
  return encoded
}

function escaped(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}
