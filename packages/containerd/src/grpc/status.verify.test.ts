import { type Headers, message, requested } from '@baton-lock/test-support/grpc-session'
import { asIs, chatting, echo, grpcClient, grpcServer, silent, unary } from '@baton-lock/test-support/grpc-world'
import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import type { Method } from './call.ts'
import { CallError, STATUS, type Status } from './status.ts'

const MiB = 1024 * 1024

const failing =
  ({ code, message }: Status): Method =>
  async () => {
    throw new CallError(code, message)
  }

const errorOf = (path: string, method: string, request = Buffer.alloc(0)) =>
  unary(grpcClient(path), method, request).then(
    () => undefined,
    ({ code, details }: ServiceError) => ({ code, details }),
  )

test('the codes are those of grpc-js', () => {
  const words = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
  const named = Object.entries(STATUS).map(([name, code]) => [words(name), code])
  const known = Object.entries(status).filter(([, code]) => typeof code === 'number')
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(known))
})

describe('a client is told', () => {
  test.each(['not found', '100 % of "größe", 中文 and 🎉', 'two\r\nlines and a tab\t', '%41 is not A', ''])(
    'why a call has failed: %j',
    async (details) => {
      const { path } = await grpcServer({ '/t/Fail': failing({ code: status.NOT_FOUND, message: details }) })
      expect(await errorOf(path, '/t/Fail')).toEqual({ code: status.NOT_FOUND, details })
    },
  )

  test('why, in up to a thousand characters', async () => {
    const { path } = await grpcServer({ '/t/Fail': failing({ code: 9, message: 'ü中'.repeat(100_000) }) })
    expect(await errorOf(path, '/t/Fail')).toEqual({ code: 9, details: 'ü中'.repeat(500) })
  })

  test('why, where half a character is left', async () => {
    const { path } = await grpcServer({ '/t/Fail': failing({ code: 9, message: `${'x'.repeat(999)}🎉` }) })
    expect(await errorOf(path, '/t/Fail')).toEqual({ code: 9, details: `${'x'.repeat(999)}\ufffd` })
  })

  test('that there is no such method', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    const details = 'there is no method /t/Other'
    expect(await errorOf(path, '/t/Other')).toEqual({ code: status.UNIMPLEMENTED, details })
  })

  test('that its message is too large, and takes it when it is not', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    expect((await errorOf(path, '/t/Echo', Buffer.alloc(16 * MiB + 1)))?.code).toBe(status.RESOURCE_EXHAUSTED)
    expect(await errorOf(path, '/t/Echo', Buffer.alloc(16 * MiB))).toBeUndefined()
  })

  test('that a method has thrown, or rejected', async () => {
    const { path } = await grpcServer({
      '/t/Throw': () => {
        throw new Error('oops')
      },
      '/t/Reject': () => Promise.reject(new Error('later')),
    })
    expect(await errorOf(path, '/t/Throw')).toEqual({ code: status.INTERNAL, details: 'oops' })
    expect(await errorOf(path, '/t/Reject')).toEqual({ code: status.INTERNAL, details: 'later' })
  })

  test('of a failure after some messages, and gets these', async () => {
    const { path } = await grpcServer({
      '/t/Chat': async (call) => {
        for await (const each of call.messages()) {
          await call.send(each)
          throw new CallError(status.ABORTED, 'enough')
        }
      },
    })
    const call = chatting(grpcClient(path))
    const replies: string[] = []
    call.on('data', (reply) => replies.push(String(reply)))
    const failed = new Promise<ServiceError>((resolve) => call.on('error', resolve as (error: Error) => void))
    call.write(Buffer.from('a'))
    expect((await failed).code).toBe(status.ABORTED)
    expect(replies).toEqual(['a'])
  })

  test('that it sends no compressed messages here', async () => {
    const { path } = await grpcServer({ '/t/Echo': echo })
    const client = grpcClient(path, { 'grpc.default_compression_algorithm': 2 })
    const failed = await new Promise<ServiceError | null>((resolve) => {
      client.makeUnaryRequest('/t/Echo', asIs, asIs, Buffer.alloc(1_000), (error) => resolve(error))
    })
    expect(failed?.code).toBe(status.UNIMPLEMENTED)
  })
})

describe('on the wire', () => {
  const METHODS = { '/t/Echo': echo, '/t/Silent': silent, '/t/Fail': failing({ code: 5, message: 'no' }) }
  const HEAD = { ':status': 200, 'content-type': 'application/grpc' }
  const NOT_ONE = { ...HEAD, 'grpc-status': '12', 'grpc-message': 'the method takes exactly one message' }
  const CUT_OFF = { ...HEAD, 'grpc-status': '13', 'grpc-message': 'the request ends within a message' }

  test.each<[string, { sent: Headers; body?: Buffer; head: Headers; trailers?: Headers }]>([
    [
      'a good answer has a head and trailers',
      { sent: {}, body: message('a'), head: HEAD, trailers: { 'grpc-status': '0' } },
    ],
    [
      'a failure has trailers only',
      { sent: { ':path': '/t/Fail' }, body: message('a'), head: { ...HEAD, 'grpc-status': '5', 'grpc-message': 'no' } },
    ],
    [
      'an unknown method is UNIMPLEMENTED',
      {
        sent: { ':path': '/t/Other' },
        head: { ...HEAD, 'grpc-status': '12', 'grpc-message': 'there is no method /t/Other' },
      },
    ],
    ['GET is not allowed', { sent: { ':method': 'GET' }, head: { ':status': 405 } }],
    ['POST of something else is not taken', { sent: { 'content-type': 'text/plain' }, head: { ':status': 415 } }],
    ['nor is gRPC for the web', { sent: { 'content-type': 'application/grpc-web' }, head: { ':status': 415 } }],
    ['a subtype is taken', { sent: { 'content-type': 'application/grpc+proto' }, body: message('a'), head: HEAD }],
    ['a request without a message is none', { sent: {}, head: NOT_ONE }],
    ['nor is one with two', { sent: {}, body: Buffer.concat([message('a'), message('b')]), head: NOT_ONE }],
    ['a message that is cut off fails', { sent: {}, body: message('abcd').subarray(0, 8), head: CUT_OFF }],
    ['and so does its prefix', { sent: {}, body: Buffer.alloc(2), head: CUT_OFF }],
    [
      'a deadline ends the call',
      {
        sent: { ':path': '/t/Silent', 'grpc-timeout': '20m' },
        head: { ...HEAD, 'grpc-status': '4', 'grpc-message': 'the deadline of the client has passed' },
      },
    ],
    [
      'a deadline that cannot be read has passed',
      { sent: { ':path': '/t/Silent', 'grpc-timeout': 'soon' }, head: { ...HEAD, 'grpc-status': '4' } },
    ],
    [
      'the longest deadline is far away',
      { sent: { 'grpc-timeout': '99999999H' }, body: message('a'), head: HEAD, trailers: { 'grpc-status': '0' } },
    ],
  ])('%s', async (_, { sent, body, head, trailers }) => {
    const { path } = await grpcServer(METHODS)
    const answer = await requested(path, { ':path': '/t/Echo', ...sent }, body)
    expect(answer.head).toMatchObject(head)
    if (trailers) expect(answer.trailers).toMatchObject(trailers)
  })
})
