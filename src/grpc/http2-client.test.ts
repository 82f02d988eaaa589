import { type ClientHttp2Session, type ClientHttp2Stream, connect, type SessionOptions } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { message, PREFACE } from '../testing/unit/grpc-frames.ts'
import { echo, grpcServer, promised } from '../testing/unit/grpc-world.ts'
import { FRAME } from './frame.ts'
import { FrameReader } from './frame-reader.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import type { Method, SingleCall } from './index.ts'

async function session(path: string, options: SessionOptions = {}): Promise<ClientHttp2Session> {
  const client = connect('http://localhost', { createConnection: () => connectSocket(path), ...options })
  onTestFinished(() => client.destroy())
  await new Promise((resolve) => client.once('remoteSettings', resolve))
  return client
}

function started(client: ClientHttp2Session, path: string, headers: Record<string, string> = {}): ClientHttp2Stream {
  return client.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
}

/** What comes on a stream: its messages, each with its prefix, and the status in its trailers. */
async function answer(stream: ClientHttp2Stream): Promise<{ body: Buffer; status: unknown }> {
  let status: unknown
  const parts: Buffer[] = []
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status']
  })
  for await (const part of stream) parts.push(part as Buffer)
  return { body: Buffer.concat(parts), status }
}

async function echoed(client: ClientHttp2Session, text: Buffer, headers?: Record<string, string>): Promise<boolean> {
  const stream = started(client, '/t/Echo', headers)
  stream.end(message(text))
  const { body, status } = await answer(stream)
  return status === '0' && body.equals(message(text))
}

/** Sends so many bytes at once. */
const pour = (bytes: number): Method => ({
  kind: 'single',
  handle(call) {
    call.send(Buffer.alloc(bytes, 'x'))
    call.end()
  },
})

test('what Node encodes with Huffman is decoded, every character of it', async () => {
  const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
  // Huffman is used only where it makes a value shorter: short codes make up for a long one.
  const allowed = characters.filter((each) => each >= ' ' && each !== '\x7f')
  const values = allowed.map((each) => `${'e'.repeat(30)}${each}e`)
  const decoder = new HpackDecoder({ tableBytes: 4_096, listBytes: 65_536 })
  const heard: string[] = []
  const all = promised<void>()
  const reader = new FrameReader(({ type, payload }) => {
    if (type !== FRAME.headers) return
    const fields = decoder.decode(payload)
    expect(payload.includes('eeeeeeee')).toBe(false)
    if (fields === 'too-large') throw new Error(fields)
    heard.push(...fields.filter(({ name }) => name === 'x-each').map(({ value }) => value))
    if (heard.length === values.length) all.resolve()
  })
  let left = PREFACE.length
  const client = connect('http://localhost', {
    createConnection: () =>
      new Duplex({
        read() {},
        write(chunk: Buffer, _, written) {
          const start = Math.min(left, chunk.length)
          left -= start
          reader.read(chunk.subarray(start))
          written()
        },
      }),
  })
  onTestFinished(() => client.destroy())
  // More of them would wait for the settings of a server.
  for (let at = 0; at < values.length; at += 50) client.request({ ':path': '/', 'x-each': values.slice(at, at + 50) })
  await all.promise
  expect(heard).toEqual(values)
})

test('headers that need more than one frame are understood', async () => {
  const { path } = await grpcServer({ '/t/Echo': echo })
  const client = await session(path, { maxSendHeaderBlockLength: 65_536 })
  expect(await echoed(client, Buffer.from('a'), { 'x-long': '~'.repeat(40_000) })).toBe(true)
  expect(await echoed(client, Buffer.from('b'))).toBe(true)
})

test('a ping is answered', async () => {
  const { path } = await grpcServer({})
  const client = await session(path)
  const payload = await new Promise((resolve) => client.ping(Buffer.from('12345678'), (_, __, echo) => resolve(echo)))
  expect(payload).toEqual(Buffer.from('12345678'))
})

test('a client without a table of its own is answered, from the start or from later on', async () => {
  const { path } = await grpcServer({ '/t/Echo': echo })
  const client = await session(path, { settings: { headerTableSize: 0 } })
  expect(await echoed(client, Buffer.from('a'))).toBe(true)
  const other = await session(path)
  for (const headerTableSize of [4_096, 100, 8_192, 0]) {
    await new Promise<void>((resolve) => other.settings({ headerTableSize }, () => resolve()))
    expect(await echoed(other, Buffer.from('b'))).toBe(true)
    expect(await echoed(other, Buffer.from('c'))).toBe(true)
  }
})

test('a message is sent through a window of a few bytes', async () => {
  const { path } = await grpcServer({ '/t/Pour': pour(10_000) })
  for (const initialWindowSize of [1, 3, 1_000]) {
    const stream = started(await session(path, { settings: { initialWindowSize } }), '/t/Pour')
    stream.end(message(Buffer.alloc(0)))
    expect((await answer(stream)).body.equals(message(Buffer.alloc(10_000, 'x')))).toBe(true)
  }
})

test('a window that is closed and opened by settings in mid-stream is heeded', async () => {
  const begun = promised<SingleCall>()
  const { path } = await grpcServer({ '/t/Pour': { kind: 'single', handle: begun.resolve }, '/t/Echo': echo })
  const client = await session(path, { settings: { initialWindowSize: 1_000 } })
  const resized = (initialWindowSize: number) =>
    new Promise<void>((resolve) => client.settings({ initialWindowSize }, () => resolve()))
  const stream = started(client, '/t/Pour')
  let size = 0
  stream.on('data', (part) => {
    size += part.length
  })
  const ended = new Promise((resolve) => stream.on('end', resolve))
  stream.end(message(Buffer.alloc(0)))
  const call = await begun.promise
  await resized(0)
  call.send(Buffer.alloc(100_000))
  call.end()
  await new Promise((resolve) => client.ping(() => resolve(undefined)))
  expect(size).toBe(0)
  await resized(65_535)
  await ended
  expect(size).toBe(100_005)
})

test('a connection that the client ends with GOAWAY serves the streams that are open', async () => {
  const begun = promised<SingleCall>()
  const { path } = await grpcServer({ '/t/Late': { kind: 'single', handle: begun.resolve } })
  const client = await session(path)
  const stream = started(client, '/t/Late')
  stream.end(message(Buffer.alloc(0)))
  const call = await begun.promise
  client.close()
  await new Promise((resolve) => setImmediate(resolve))
  call.send(Buffer.from('done'))
  call.end()
  expect((await answer(stream)).body.subarray(5).toString()).toBe('done')
})

test('a server that closes says goodbye', async () => {
  const { path, server } = await grpcServer({})
  const client = await session(path)
  const said = new Promise((resolve) => client.once('goaway', resolve))
  await server.close()
  expect(await said).toBe(0)
})
