/** Types of frames (RFC 9113, section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const FLAG = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

/** Why a stream or a connection ends (RFC 9113, section 7). */
export const ERROR = {
  none: 0x0,
  protocol: 0x1,
  internal: 0x2,
  flowControl: 0x3,
  streamClosed: 0x5,
  frameSize: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compression: 0x9,
  enhanceYourCalm: 0xb,
} as const

export const FRAME_HEAD_BYTES = 9
/** What anyone must take, the most that is taken here, and the most that is sent, whatever a client would take. */
export const FRAME_MAX_BYTES = 16_384
export const WINDOW_MAX = 2 ** 31 - 1
/** Of streams and of the connection, until something else is said. */
export const INITIAL_WINDOW = 65_535

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  /** Valid only while the frame is handled: what is kept of it is copied. */
  readonly payload: Buffer
}

/** The connection cannot go on: GOAWAY with this code, and it is closed. */
export class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The stream cannot go on: RST_STREAM with this code. The others are not concerned. */
export class StreamError extends Error {
  readonly code: number
  readonly streamId: number

  constructor({ code, streamId, message }: { code: number; streamId: number; message: string }) {
    super(message)
    this.code = code
    this.streamId = streamId
  }
}

/** The payload without its padding. */
export function unpadded({ flags, payload }: Frame): Buffer {
  if ((flags & FLAG.padded) === 0) return payload
  const end = payload.length - (payload[0] ?? 0)
  if (payload.length === 0)
    throw new ConnectionError(ERROR.frameSize, 'a padded frame without the length of its padding')
  if (end < 1) throw new ConnectionError(ERROR.protocol, 'more padding than frame')
  return payload.subarray(1, end)
}
