import { FLAG, FRAME, type Frame } from '../../grpc/frame.ts'
import { headerBlock } from '../../grpc/hpack-encoder.ts'

/** The first bytes of every client. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export function frame(
  type: number,
  { flags = 0, streamId = 0, payload = Buffer.alloc(0) }: Partial<Frame> = {},
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

export function requestBlock(path: string, more: readonly (readonly [string, string])[] = []): Buffer {
  const pseudo = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
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

export const window = (streamId: number, by: string): Buffer =>
  frame(FRAME.windowUpdate, { streamId, payload: bytes(by) })

export const settings = (hex: string): Buffer => frame(FRAME.settings, { payload: bytes(hex) })
