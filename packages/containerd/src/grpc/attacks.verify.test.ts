import { systemClientClock } from '@baton-lock/client/clock'
import {
  body,
  bytes,
  FLAG,
  FRAME,
  frame,
  headerBlock,
  message,
  opened,
  PREFACE,
  request,
  requestBlock,
  reset,
  settings,
  window,
} from '@baton-lock/test-support/grpc-frames'
import { session, started } from '@baton-lock/test-support/grpc-session'
import {
  chat,
  echo,
  grpcClient,
  grpcServer,
  pour,
  quickClock,
  RawPeer,
  silent,
  unary,
} from '@baton-lock/test-support/grpc-world'
import { describe, expect, test } from 'vitest'

const MiB = 1024 * 1024
const METHODS = { '/t/Echo': echo, '/t/Silent': silent, '/t/Chat': chat, '/t/Pour': pour }
const { ack, endHeaders, endStream, padded } = FLAG
const ping = frame(FRAME.ping, { payload: Buffer.alloc(8) })

/** A server, a client that behaves, and one that is about not to. */
async function attacked(clock = quickClock()) {
  const { path } = await grpcServer(METHODS, clock)
  const client = grpcClient(path)
  const isServed = async () => (await unary(client, '/t/Echo', Buffer.from('x'))).toString() === 'x'
  expect(await isServed()).toBe(true)
  return { path, isServed, peer: await RawPeer.greeted(path) }
}

describe('a client that breaks a rule of HTTP/2 is sent away, and others are served', () => {
  test.each<[string, readonly Buffer[]]>([
    ['a frame that is too long', [bytes('004001 00 00 00000001'), Buffer.alloc(16_385)]],
    ['data without a stream', [frame(FRAME.data)]],
    ['data of a stream that was never opened', [body(1, 'a')]],
    ['headers without a stream', [request(0)]],
    ['a stream of even number', [request(2)]],
    ['a reset of a stream that was never opened', [reset(1)]],
    ['a reset of another size', [opened(1), frame(FRAME.rstStream, { streamId: 1 })]],
    ['settings of a stream', [frame(FRAME.settings, { streamId: 1 })]],
    ['settings that are cut off', [settings('000400')]],
    [
      'an acknowledgement of settings that has some',
      [frame(FRAME.settings, { flags: ack, payload: bytes('000400000001') })],
    ],
    ['an initial window that is too large', [settings('0004 80000000')]],
    ['a ping of another size', [frame(FRAME.ping, { payload: bytes('00') })]],
    ['a ping of a stream', [frame(FRAME.ping, { streamId: 1, payload: Buffer.alloc(8) })]],
    ['a window widened by nothing', [window(0, '00000000')]],
    ['a window that is too large', [window(0, '7fffffff')]],
    ['a push', [frame(FRAME.pushPromise, { streamId: 1 })]],
    ['a frame amid headers', [request(1, { flags: 0 }), ping]],
    ['a continuation of another stream', [request(1, { flags: 0 }), frame(FRAME.continuation, { streamId: 3 })]],
    ['headers that cannot be decoded', [request(1, { block: bytes('be') })]],
    [
      'more padding than frame',
      [opened(1), frame(FRAME.data, { streamId: 1, flags: padded, payload: bytes('02 00') })],
    ],
  ])('%s', async (_, frames) => {
    const { peer, isServed } = await attacked()
    peer.write(...frames)
    await peer.closed
    expect(await isServed()).toBe(true)
  })

  test.each([
    ['HTTP/1', Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')],
    ['anything else', Buffer.alloc(1_000, 'x')],
    ['frames before its settings', Buffer.concat([PREFACE, opened(1)])],
  ])('that speaks %s', async (_, said) => {
    const { path, isServed } = await attacked()
    const peer = await RawPeer.connect(path)
    peer.write(said)
    await peer.closed
    expect(await isServed()).toBe(true)
  })
})

describe('a stream that breaks a rule is reset, and the next one is served', () => {
  const pseudo: [string, string][] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':authority', 'localhost'],
    [':path', '/t/Silent'],
  ]
  const malformed = (fields: readonly [string, string][]) => request(1, { block: headerBlock(fields) })

  test.each<[string, Buffer]>([
    ['without a path', malformed(pseudo.slice(0, 3))],
    ['with two paths', malformed([...pseudo, [':path', '/t/Silent']])],
    ['with a pseudo-field of no request', malformed([...pseudo, [':status', '200']])],
    ['with a pseudo-field after another', malformed([['a', 'b'], ...pseudo])],
    ['with a name in capitals', malformed([...pseudo, ['Te', 'trailers']])],
    ['with a field of a connection', malformed([...pseudo, ['connection', 'close']])],
    ['with a value of two lines', malformed([...pseudo, ['a', 'b\r\nc']])],
    ['with headers of more than 64 KiB', request(1, { block: Buffer.concat([requestBlock('/t/Echo'), large()]) })],
    ['with thousands of headers', request(1, { block: Buffer.concat([requestBlock('/t/Echo'), many()]) })],
  ])('%s', async (_, frames) => {
    const { peer, isServed } = await attacked()
    peer.write(frames)
    expect((await peer.first(({ type }) => type === FRAME.rstStream))?.streamId).toBe(1)
    peer.write(request(3), body(3, 'hello'))
    const data = await peer.first(({ type, streamId }) => type === FRAME.data && streamId === 3)
    expect(data?.payload.subarray(5).toString()).toBe('hello')
    expect(await isServed()).toBe(true)
  })

  /** A field of 1,000 bytes that goes into the table, named again and again. */
  function large(): Buffer {
    const literal = Buffer.concat([bytes('40 01 61 7f e906'), Buffer.alloc(1_000, 'b')])
    return Buffer.concat([literal, Buffer.alloc(99, 0xbe)])
  }

  /** `accept-encoding: gzip, deflate`, of the static table. */
  function many(): Buffer {
    return Buffer.alloc(2_000, 0x90)
  }
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

  test('it pads, splits headers and messages, sets priorities, and sends unknown frames', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    const block = requestBlock('/t/Echo')
    const first = Buffer.concat([bytes('03 80000000 ff'), block.subarray(0, 10), Buffer.alloc(3)])
    const part = (from: number, to: number) =>
      Buffer.concat([Buffer.of(200), message(Buffer.from('hello')).subarray(from, to), Buffer.alloc(200)])
    peer.write(
      frame(FRAME.priority, { streamId: 1, payload: bytes('00000000 10') }),
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

  test('it resets calls that have ended, and goes on', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    peer.write(request(1, { path: '/t/Nothing' }), body(1, 'a', 0), window(1, '00000001'), reset(1))
    expect(await peer.pinged(1)).toBe(true)
    expect(peer.heard.some(({ type }) => type === FRAME.goaway)).toBe(false)
  })
})

describe('a flood does not keep others from being served', () => {
  test('streams that are reset at once: one that is open goes on', async () => {
    const { peer, isServed } = await attacked(systemClientClock())
    peer.write(request(1, { path: '/t/Chat' }))
    for (let round = 1; round <= 6; round++) {
      const ids = Array.from({ length: 500 }, (_, index) => 2 * (round * 500 + index) + 1)
      for (const id of ids) peer.write(opened(id), reset(id))
      expect(await peer.pinged(round)).toBe(true)
      expect(await isServed()).toBe(true)
    }
    peer.write(body(1, 'still here'))
    const data = await peer.first(({ type }) => type === FRAME.data)
    expect(data?.payload.subarray(5).toString()).toBe('still here')
  })

  test('continuations without end', async () => {
    const { peer, isServed } = await attacked()
    peer.write(request(1, { flags: 0 }), ...Array(8_000).fill(frame(FRAME.continuation, { streamId: 1 })))
    await peer.closed
    expect(await isServed()).toBe(true)
  })

  test.each([
    ['pings', ping],
    ['settings', settings('0004 00010000')],
  ])('%s whose answers are not read', async (_, each) => {
    const { peer, isServed } = await attacked()
    peer.pause()
    peer.write(Buffer.concat(Array(400_000).fill(each)))
    for (let each = 0; each < 100; each++) expect(await isServed()).toBe(true)
    peer.resume()
    await peer.closed
  })

  test('more streams than there may be', async () => {
    const { peer, isServed } = await attacked()
    for (let each = 0; each <= 1_000; each++) peer.write(opened(2 * each + 1))
    await peer.closed
    expect(await isServed()).toBe(true)
  })

  test('a server stops although a client that was sent away does not read', async () => {
    const { path, server } = await grpcServer(METHODS, quickClock())
    const peer = await RawPeer.greeted(path)
    peer.pause()
    peer.write(Buffer.concat(Array(400_000).fill(ping)))
    await unary(grpcClient(path), '/t/Echo', Buffer.from('x'))
    await server.close()
  })

  test('more connections than there may be', async () => {
    const { path, isServed } = await attacked()
    const peers = await Promise.all(Array.from({ length: 300 }, () => RawPeer.greeted(path)))
    await peers.at(-1)!.closed
    expect(await isServed()).toBe(true)
  })

  test('more data than the window of its stream', async () => {
    const { peer, isServed } = await attacked()
    const piece = frame(FRAME.data, { streamId: 1, payload: message(Buffer.alloc(16_379)) })
    peer.write(opened(1), ...Array(200).fill(piece))
    await peer.first(({ type }) => type === FRAME.rstStream || type === FRAME.goaway)
    expect(await isServed()).toBe(true)
  })

  test('answers that are not read take a bounded part of the memory', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await session(path, { settings: { initialWindowSize: 0 } })
    const length = Buffer.alloc(4)
    length.writeUInt32BE(512 * MiB)
    const before = process.memoryUsage().arrayBuffers
    for (let each = 0; each < 500; each++)
      started(peer, '/t/Pour')
        .on('error', () => {})
        .end(message(length))
    for (let each = 0; each < 50; each++) expect(await unary(grpcClient(path), '/t/Echo', length)).toEqual(length)
    // A stream has one message of 64 KiB that waits.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * MiB)
  })
})
