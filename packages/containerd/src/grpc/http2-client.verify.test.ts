import type { ClientHttp2Session } from 'node:http2'
import { answerOf, message, session, started } from '@baton-lock/test-support/grpc-session'
import { echo, grpcServer, promised } from '@baton-lock/test-support/grpc-world'
import { expect, test } from 'vitest'
import type { Method } from './call.ts'

async function echoed(client: ClientHttp2Session, text: Buffer, headers?: Record<string, string>): Promise<boolean> {
  const stream = started(client, '/t/Echo', headers)
  stream.end(message(text))
  const { body, trailers } = await answerOf(stream)
  return trailers['grpc-status'] === '0' && body.equals(message(text))
}

/** Sends so many bytes in one message. */
const pour =
  (bytes: number): Method =>
  (call) =>
    call.send(Buffer.alloc(bytes, 'x'))

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
    stream.end(message(''))
    expect((await answerOf(stream)).body.equals(message(Buffer.alloc(10_000, 'x')))).toBe(true)
  }
})

test('a window that is closed and opened by settings in mid-stream is heeded', async () => {
  const begun = promised<void>()
  const resume = promised<void>()
  const method: Method = async (call) => {
    begun.resolve()
    await resume.promise
    await call.send(Buffer.alloc(100_000))
  }
  const { path } = await grpcServer({ '/t/Pour': method })
  const client = await session(path, { settings: { initialWindowSize: 1_000 } })
  const resized = (initialWindowSize: number) =>
    new Promise<void>((resolve) => client.settings({ initialWindowSize }, () => resolve()))
  const stream = started(client, '/t/Pour')
  let size = 0
  stream.on('data', (part) => {
    size += part.length
  })
  const ended = new Promise((resolve) => stream.on('end', resolve))
  stream.end(message(''))
  await begun.promise
  await resized(0)
  resume.resolve()
  await new Promise((resolve) => client.ping(() => resolve(undefined)))
  expect(size).toBe(0)
  await resized(65_535)
  await ended
  expect(size).toBe(100_005)
})

test('a connection that the client ends with GOAWAY serves the streams that are open', async () => {
  const begun = promised<void>()
  const resume = promised<void>()
  const method: Method = async (call) => {
    begun.resolve()
    await resume.promise
    await call.send(Buffer.from('done'))
  }
  const { path } = await grpcServer({ '/t/Late': method })
  const client = await session(path)
  const stream = started(client, '/t/Late')
  stream.end(message(''))
  await begun.promise
  client.close()
  await new Promise((resolve) => setImmediate(resolve))
  resume.resolve()
  expect((await answerOf(stream)).body.subarray(5).toString()).toBe('done')
})

test('a server that closes says goodbye', async () => {
  const { path, server } = await grpcServer({})
  const client = await session(path)
  const said = new Promise((resolve) => client.once('goaway', resolve))
  await server.close()
  expect(await said).toBe(0)
})
