import { describe, expect, test } from 'vitest'
import {
  body,
  bytes,
  frame,
  message,
  opened,
  PREFACE,
  request,
  requestBlock,
  settings,
  window,
} from '../testing/unit/grpc-frames.ts'
import { echo, grpcServer, RawPeer, silent } from '../testing/unit/grpc-world.ts'
import { ERROR, FLAG, FRAME } from './frame.ts'
import { headerBlock } from './hpack-encoder.ts'

const METHODS = { '/t/Echo': echo, '/t/Silent': silent }
const { ack, endHeaders, endStream, padded } = FLAG

describe('a client that breaks a rule of the connection is sent away', () => {
  test.each<[string, number, readonly Buffer[]]>([
    ['with a frame before its settings', ERROR.protocol, []],
    ['with a frame that is too long', ERROR.frameSize, [bytes('004001 00 00 00000001')]],
    ['with data without a stream', ERROR.protocol, [frame(FRAME.data)]],
    ['with data of a stream that was never opened', ERROR.protocol, [body(1, 'a')]],
    ['with headers without a stream', ERROR.protocol, [request(0)]],
    ['with a stream of even number', ERROR.protocol, [request(2)]],
    ['with a stream older than another', ERROR.protocol, [opened(3), opened(1)]],
    [
      'with a reset of a stream that was never opened',
      ERROR.protocol,
      [frame(FRAME.rstStream, { streamId: 1, payload: bytes('00000008') })],
    ],
    ['with a reset of another size', ERROR.frameSize, [opened(1), frame(FRAME.rstStream, { streamId: 1 })]],
    ['with settings of a stream', ERROR.protocol, [frame(FRAME.settings, { streamId: 1 })]],
    ['with settings that are cut off', ERROR.frameSize, [settings('000400')]],
    [
      'with an acknowledgement of settings that has some',
      ERROR.frameSize,
      [frame(FRAME.settings, { flags: ack, payload: bytes('000400000001') })],
    ],
    ['with a push that is neither on nor off', ERROR.protocol, [settings('0002 00000002')]],
    ['with an initial window that is too large', ERROR.flowControl, [settings('0004 80000000')]],
    [
      'with an initial window that makes that of a stream too large',
      ERROR.flowControl,
      [opened(1), window(1, '70000000'), settings('0004 7fffffff')],
    ],
    ['with frames that are too small', ERROR.protocol, [settings('0005 00000001')]],
    ['with a ping of another size', ERROR.frameSize, [frame(FRAME.ping, { payload: bytes('00') })]],
    ['with a ping of a stream', ERROR.protocol, [frame(FRAME.ping, { streamId: 1, payload: Buffer.alloc(8) })]],
    ['with a window widened by nothing', ERROR.protocol, [window(0, '00000000')]],
    ['with a window that is too large', ERROR.flowControl, [window(0, '7fffffff')]],
    ['with a window of a stream that was never opened', ERROR.protocol, [window(1, '00000001')]],
    ['with a push', ERROR.protocol, [frame(FRAME.pushPromise, { streamId: 1 })]],
    ['with a continuation of nothing', ERROR.protocol, [frame(FRAME.continuation, { streamId: 1 })]],
    [
      'with a frame amid headers',
      ERROR.protocol,
      [request(1, { flags: 0 }), frame(FRAME.ping, { payload: Buffer.alloc(8) })],
    ],
    [
      'with a continuation of another stream',
      ERROR.protocol,
      [request(1, { flags: 0 }), frame(FRAME.continuation, { streamId: 3 })],
    ],
    [
      'with headers without end',
      ERROR.enhanceYourCalm,
      [request(1, { flags: 0 }), ...Array(8_000).fill(frame(FRAME.continuation, { streamId: 1 }))],
    ],
    ['with headers that are not to be decoded', ERROR.compression, [request(1, { block: bytes('be') })]],
    [
      'with more padding than frame',
      ERROR.protocol,
      [opened(1), frame(FRAME.data, { streamId: 1, flags: padded, payload: bytes('02 00') })],
    ],
    [
      'with padding without its length',
      ERROR.frameSize,
      [opened(1), frame(FRAME.data, { streamId: 1, flags: padded })],
    ],
    [
      'with headers shorter than their priority',
      ERROR.frameSize,
      [request(1, { flags: endHeaders | FLAG.priority, block: bytes('00000000') })],
    ],
  ])('%s', async (_, code, frames) => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.connect(path)
    if (frames.length === 0) peer.write(PREFACE, opened(1))
    else peer.write(PREFACE, frame(FRAME.settings), ...frames)
    const goaway = await peer.first(({ type }) => type === FRAME.goaway)
    expect(goaway?.payload.readUInt32BE(4)).toBe(code)
    await peer.closed
  })

  test('that speaks something else', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.connect(path)
    peer.write(Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'))
    expect((await peer.first(({ type }) => type === FRAME.goaway))?.payload.readUInt32BE(4)).toBe(ERROR.protocol)
    await peer.closed
  })
})

describe('what a client may do', () => {
  test('its frames come byte by byte', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.connect(path)
    const all = Buffer.concat([PREFACE, settings('0004 0000ffff'), request(1), body(1, 'hello')])
    for (const byte of all) {
      peer.write(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const data = await peer.first(({ type }) => type === FRAME.data)
    expect(data?.payload.subarray(5).toString()).toBe('hello')
  })

  test('it pads, splits headers and messages, sets priorities, and says what nobody knows', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    const block = requestBlock('/t/Echo')
    const first = Buffer.concat([bytes('03 80000000 ff'), block.subarray(0, 10), Buffer.alloc(3)])
    const part = (from: number, to: number) =>
      Buffer.concat([Buffer.of(200), message(Buffer.from('hello')).subarray(from, to), Buffer.alloc(200)])
    peer.write(
      frame(FRAME.priority, { streamId: 1, payload: Buffer.alloc(5) }),
      frame(0xfe, { streamId: 77, flags: 0xff, payload: Buffer.alloc(100) }),
      frame(FRAME.headers, { streamId: 1, flags: padded | FLAG.priority, payload: first }),
      frame(FRAME.continuation, { streamId: 1, payload: block.subarray(10, 11) }),
      frame(FRAME.continuation, { streamId: 1, flags: endHeaders, payload: block.subarray(11) }),
      ...[0, 1, 2, 6, 9].map((from, index, all) =>
        frame(FRAME.data, { streamId: 1, flags: padded, payload: part(from, all[index + 1] ?? 10) }),
      ),
      frame(FRAME.data, { streamId: 1, flags: endStream }),
    )
    const data = await peer.first(({ type }) => type === FRAME.data)
    expect(data?.payload.subarray(5).toString()).toBe('hello')
  })

  test('trailers end its request', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    const trailers = headerBlock([['x-checksum', 'abc']])
    peer.write(request(1), body(1, 'hello', 0), request(1, { flags: endHeaders | endStream, block: trailers }))
    const data = await peer.first(({ type }) => type === FRAME.data)
    expect(data?.payload.subarray(5).toString()).toBe('hello')
  })

  test('a reset, more data and a window after the end of a call are passed over', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    peer.write(request(1, { path: '/t/Nothing' }), body(1, 'a', 0), window(1, '00000001'))
    peer.write(frame(FRAME.rstStream, { streamId: 1, payload: bytes('00000008') }), body(1, 'b'))
    expect(await peer.pinged(1)).toBe(true)
    expect(peer.heard.some(({ type }) => type === FRAME.goaway)).toBe(false)
  })
})
