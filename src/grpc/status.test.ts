import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { body, frame, message, request } from '../testing/unit/grpc-frames.ts'
import { asIs, chatting, echo, grpcClient, grpcServer, RawPeer, silent, unary } from '../testing/unit/grpc-world.ts'
import { FLAG, FRAME } from './frame.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { headerBlock } from './hpack-encoder.ts'
import { type Method, STATUS, type Status } from './index.ts'

const MiB = 1024 * 1024

const failing = (answer: Status): Method => ({ kind: 'single', handle: (call) => call.fail(answer) })

const errorOf = (path: string, method: string, request = Buffer.alloc(0)) =>
  unary(grpcClient(path), method, request).then(
    () => undefined,
    ({ code, details }: ServiceError) => ({ code, details }),
  )

/** The header blocks that come on a stream until its end, as text. */
async function answerOf(peer: RawPeer, streamId: number): Promise<string[]> {
  await peer.first(
    (each) => each.type === FRAME.headers && each.streamId === streamId && (each.flags & FLAG.endStream) > 0,
  )
  const decoder = new HpackDecoder({ tableBytes: 4_096, listBytes: 100_000 })
  return peer.heard
    .filter((each) => each.type === FRAME.headers && each.streamId === streamId)
    .map(({ payload }) => {
      const fields = decoder.decode(payload)
      return fields === 'too-large' ? fields : fields.map(({ name, value }) => `${name}: ${value}`).join(', ')
    })
}

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

  test('why, in full sentences of up to 8 KiB', async () => {
    const { path } = await grpcServer({ '/t/Fail': failing({ code: 9, message: 'ü'.repeat(100_000) }) })
    expect(await errorOf(path, '/t/Fail')).toEqual({ code: 9, details: 'ü'.repeat(8_192 / 6) })
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

  test('that a handler has thrown, or rejected', async () => {
    const { path } = await grpcServer({
      '/t/Throw': {
        kind: 'single',
        handle() {
          throw new Error('oops')
        },
      },
      '/t/Reject': { kind: 'single', handle: async () => Promise.reject(new Error('later')) },
    })
    expect(await errorOf(path, '/t/Throw')).toEqual({ code: status.INTERNAL, details: 'oops' })
    expect(await errorOf(path, '/t/Reject')).toEqual({ code: status.INTERNAL, details: 'later' })
  })

  test('of a failure after some messages, and gets these', async () => {
    const { path } = await grpcServer({
      '/t/Chat': {
        kind: 'stream',
        async handle(call) {
          for await (const each of call.messages()) {
            call.send(each)
            return call.fail({ code: status.ABORTED, message: 'enough' })
          }
        },
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
  const { endHeaders, endStream } = FLAG
  const last = endHeaders | endStream
  const http = (fields: readonly [string, string][]) =>
    request(1, { flags: last, block: headerBlock([...fields, [':scheme', 'http'], [':path', '/t/Echo']]) })
  const HEAD = ':status: 200, content-type: application/grpc'

  test.each<[string, string[], readonly Buffer[]]>([
    ['a good answer has a head and trailers', [HEAD, 'grpc-status: 0'], [request(1), body(1, 'a')]],
    [
      'a failure has trailers only',
      [`${HEAD}, grpc-status: 5, grpc-message: no`],
      [request(1, { path: '/t/Fail' }), body(1, 'a')],
    ],
    ['GET is not allowed', [':status: 405'], [http([[':method', 'GET']])]],
    ['POST of something else is not taken', [':status: 415'], [http([[':method', 'POST']])]],
    [
      'a request without a message is none',
      [`${HEAD}, grpc-status: 12, grpc-message: the method takes exactly one message`],
      [request(1, { flags: last })],
    ],
    [
      'nor is one with two',
      [`${HEAD}, grpc-status: 12, grpc-message: the method takes exactly one message`],
      [request(1), body(1, 'a', 0), body(1, 'b')],
    ],
    [
      'a message that is cut off fails',
      [`${HEAD}, grpc-status: 13, grpc-message: the request ends within a message`],
      [
        request(1),
        frame(FRAME.data, { streamId: 1, flags: endStream, payload: message(Buffer.alloc(9)).subarray(0, 8) }),
      ],
    ],
    [
      'and so it does on a stream',
      [`${HEAD}, grpc-status: 13, grpc-message: the request ends within a message`],
      [
        request(1, { path: '/t/Silent' }),
        frame(FRAME.data, { streamId: 1, flags: endStream, payload: Buffer.alloc(2) }),
      ],
    ],
    [
      'headers of more than 64 KiB are too large',
      [`${HEAD}, grpc-status: 8, grpc-message: the headers of the request are too large`],
      // An entry of the table, named again and again.
      [
        request(1, {
          flags: last,
          block: Buffer.concat([headerBlock([[':method', 'POST']]), large(), Buffer.alloc(99, 0xbe)]),
        }),
      ],
    ],
  ])('%s', async (_, answer, frames) => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    peer.write(...frames)
    expect(await answerOf(peer, 1)).toEqual(answer)
    expect(await peer.pinged(1)).toBe(true)
  })

  /** A field of 1000 bytes that goes into the table. */
  function large(): Buffer {
    const literal = headerBlock([['a', 'b'.repeat(1_000)]])
    literal[0] = 0x40
    return literal
  }

  test('a call that is over before its request is reset without an error, after the trailers', async () => {
    const { path } = await grpcServer(METHODS)
    const peer = await RawPeer.greeted(path)
    peer.write(request(1, { path: '/t/Other' }))
    const reset = await peer.first(({ type }) => type === FRAME.rstStream)
    expect(reset?.payload.readUInt32BE(0)).toBe(0)
    expect(peer.heard.findIndex(({ type }) => type === FRAME.headers)).toBe(peer.heard.indexOf(reset!) - 1)
  })
})
