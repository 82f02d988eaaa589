import { constants } from 'node:http2'

/** The first bytes of every client. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

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

export const FLAG = {
  ack: constants.NGHTTP2_FLAG_ACK,
  endStream: constants.NGHTTP2_FLAG_END_STREAM,
  endHeaders: constants.NGHTTP2_FLAG_END_HEADERS,
  padded: constants.NGHTTP2_FLAG_PADDED,
  priority: constants.NGHTTP2_FLAG_PRIORITY,
} as const

const HEAD_BYTES = 9

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

/** The whole frames at the beginning of some bytes, and what is left. */
export function framesIn(bytes: Buffer): { frames: Frame[]; left: Buffer } {
  const frames: Frame[] = []
  let left = bytes
  while (left.length >= HEAD_BYTES && left.length >= HEAD_BYTES + left.readUIntBE(0, 3)) {
    const end = HEAD_BYTES + left.readUIntBE(0, 3)
    const payload = left.subarray(HEAD_BYTES, end)
    frames.push({ type: left[3]!, flags: left[4]!, streamId: left.readUInt32BE(5) & 0x7fffffff, payload })
    left = left.subarray(end)
  }
  return { frames, left }
}

export function frame(
  type: number,
  { flags = 0, streamId = 0, payload = Buffer.alloc(0) }: Partial<Frame> = {},
): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** Header fields as literals of HPACK that do not enter the table; names and values have up to 126 bytes. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (each: string) => Buffer.concat([Buffer.of(each.length), Buffer.from(each)])
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
}

export function requestBlock(path: string, more: readonly (readonly [string, string])[] = []): Buffer {
  const pseudo = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ] as const
  return headerBlock([...pseudo, ['content-type', 'application/grpc'], ...more])
}

export function message(body: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(body.length, 1)
  return Buffer.concat([prefix, body])
}

export const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex')

/** Headers of a request, without its end. */
export function request(
  streamId: number,
  { path = '/t/Echo', flags = FLAG.endHeaders as number, block = requestBlock(path) } = {},
): Buffer {
  return frame(FRAME.headers, { streamId, flags, payload: block })
}

/** One message, and the end of its request. */
export function body(streamId: number, text: string, flags: number = FLAG.endStream): Buffer {
  return frame(FRAME.data, { streamId, flags, payload: message(Buffer.from(text)) })
}

/** A request that nobody answers. */
export const opened = (streamId: number): Buffer => request(streamId, { path: '/t/Silent' })

export const reset = (streamId: number): Buffer => frame(FRAME.rstStream, { streamId, payload: bytes('00000008') })

export const window = (streamId: number, by: string): Buffer =>
  frame(FRAME.windowUpdate, { streamId, payload: bytes(by) })

export const settings = (hex: string): Buffer => frame(FRAME.settings, { payload: bytes(hex) })
