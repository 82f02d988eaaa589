import { describe, expect, test } from 'vitest'
import { body, bytes, frame, message, opened, request, window } from '../testing/unit/grpc-frames.ts'
import { echo, grpcServer, RawPeer, silent } from '../testing/unit/grpc-world.ts'
import { ERROR, FLAG, FRAME } from './frame.ts'
import { headerBlock } from './hpack-encoder.ts'

const METHODS = { '/t/Echo': echo, '/t/Silent': silent }
const { endHeaders, endStream } = FLAG

describe('a stream that breaks a rule is reset, and the next one is served', () => {
  const malformed = (fields: readonly [string, string][]) => request(1, { block: headerBlock(fields) })
  const pseudo: [string, string][] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/t/Echo'],
  ]

  test.each<[string, number, readonly Buffer[]]>([
    ['without a path', ERROR.protocol, [malformed(pseudo.slice(0, 2))]],
    ['with two paths', ERROR.protocol, [malformed([...pseudo, [':path', '/t/Echo']])]],
    ['with a pseudo-field of no request', ERROR.protocol, [malformed([...pseudo, [':status', '200']])]],
    ['with a pseudo-field after another', ERROR.protocol, [malformed([['a', 'b'], ...pseudo])]],
    ['with a name in capitals', ERROR.protocol, [malformed([...pseudo, ['Te', 'trailers']])]],
    ['with a field of a connection', ERROR.protocol, [malformed([...pseudo, ['connection', 'close']])]],
    ['with another te', ERROR.protocol, [malformed([...pseudo, ['te', 'gzip']])]],
    ['with a value of two lines', ERROR.protocol, [malformed([...pseudo, ['a', 'b\r\nc']])]],
    [
      'that goes on after its end',
      ERROR.streamClosed,
      [request(1, { path: '/t/Silent', flags: endHeaders | endStream }), body(1, 'a')],
    ],
    [
      'with headers after its end',
      ERROR.streamClosed,
      [request(1, { path: '/t/Silent', flags: endHeaders | endStream }), opened(1)],
    ],
    ['with trailers that do not end it', ERROR.protocol, [opened(1), request(1, { block: headerBlock([['a', 'b']]) })]],
    ['with pseudo-fields in trailers', ERROR.protocol, [opened(1), request(1, { flags: endHeaders | endStream })]],
    ['with a window widened by nothing', ERROR.protocol, [opened(1), window(1, '00000000')]],
    ['with a window that is too large', ERROR.flowControl, [opened(1), window(1, '7fffffff')]],
    [
      'with a priority of another size',
      ERROR.frameSize,
      [opened(1), frame(FRAME.priority, { streamId: 1, payload: bytes('00') })],
    ],
    ['that sends more than its window', ERROR.flowControl, [opened(1), ...flood(1, 129)]],
  ])('%s', async (_, code, frames) => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    peer.write(...frames)
    const reset = await peer.first(({ type }) => type === FRAME.rstStream)
    expect([reset?.streamId, reset?.payload.readUInt32BE(0)]).toEqual([1, code])
    peer.write(request(3), body(3, 'hello'))
    const data = await peer.first(({ type, streamId }) => type === FRAME.data && streamId === 3)
    expect(data?.payload.subarray(5).toString()).toBe('hello')
  })

  test('or refused, where too many are open', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    for (let each = 0; each <= 1_000; each++) peer.write(opened(2 * each + 1))
    const reset = await peer.first(({ type }) => type === FRAME.rstStream)
    expect([reset?.streamId, reset?.payload.readUInt32BE(0)]).toEqual([2_001, ERROR.refusedStream])
    expect(await peer.pinged(1)).toBe(true)
  })

  /** Messages that nobody takes; 16 KiB each. */
  function flood(streamId: number, frames: number): Buffer[] {
    return Array(frames).fill(frame(FRAME.data, { streamId, payload: message(Buffer.alloc(16_379)) }))
  }
})
