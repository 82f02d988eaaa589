import { createServer, constants as http2, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net'
import { systemTiming } from '@baton-lock/store/timing'
import { status } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import type { EtcdTarget } from '../etcd-url.ts'
import { errorOf, type Failure } from './failures.ts'
import { UnaryCalls } from './unary-calls.ts'

const HEAD = { ':status': 200, 'content-type': 'application/grpc' }

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function opened(endpoint: string, limitMs = 5_000): Promise<UnaryCalls> {
  const target: EtcdTarget = { endpoints: [endpoint], prefix: 'baton/', compactMs: undefined, name: endpoint }
  const calls = await UnaryCalls.open(endpoint, target, { timing: systemTiming, limitMs })
  onTestFinished(() => calls.close())
  return calls
}

/** One that answers each call like this. */
async function answering(
  answer: (stream: ServerHttp2Stream, session: ServerHttp2Session) => void,
): Promise<UnaryCalls> {
  const server = createServer()
  server.on('stream', (stream) => {
    stream.on('error', () => {})
    answer(stream, stream.session as ServerHttp2Session)
  })
  return opened(await listening(server))
}

interface Told {
  readonly answer: string | undefined
  readonly failure: Failure | undefined
}

function called(calls: UnaryCalls, message = 'ping'): { readonly told: Promise<Told>; readonly cancel: () => void } {
  let cancel = () => {}
  const told = new Promise<Told>((resolve) => {
    let answer: string | undefined
    cancel = calls.begin(
      { path: '/a/B', headers: { te: 'trailers' }, message: Buffer.from(message) },
      {
        answered: (bytes) => {
          answer = bytes.toString()
        },
        ended: (failure) => resolve({ answer, failure }),
      },
    )
  })
  return { told, cancel }
}

function framed(message: string): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, Buffer.from(message)])
}

test('an answer is put together from its pieces, and the request has come as it was sent', async () => {
  const large = 'x'.repeat(300_000)
  const calls = await answering((stream) => {
    const received: Buffer[] = []
    stream.on('data', (chunk: Buffer) => received.push(chunk))
    stream.on('end', () => {
      expect(Buffer.concat(received).equals(framed(large))).toBe(true)
      stream.respond(HEAD, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      const [head, body] = [framed(large).subarray(0, 3), framed(large).subarray(3)]
      stream.write(head, () => setImmediate(() => stream.end(body)))
    })
  })
  expect(await called(calls, large).told).toEqual({ answer: large, failure: undefined })
})

test('a status is told with its words, whether it comes alone or after a head', async () => {
  let count = 0
  const calls = await answering((stream) => {
    const trailers = { 'grpc-status': '9', 'grpc-message': 'etcdserver: 100%25 %E2%82%AC' }
    if (++count === 1) stream.respond({ ...HEAD, ...trailers }, { endStream: true })
    else {
      stream.respond(HEAD, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(trailers))
      stream.end()
    }
  })
  for (let times = 0; times < 2; times++) {
    const { failure } = await called(calls).told
    expect(failure).toMatchObject({ code: status.FAILED_PRECONDITION, message: 'etcdserver: 100% €' })
  }
})

test('whoever does not speak gRPC is not etcd', async () => {
  const calls = await answering((stream) => stream.respond({ ':status': 404 }, { endStream: true }))
  const { failure } = await called(calls).told
  expect(failure).toMatchObject({ code: status.UNAVAILABLE, message: 'whoever is there is not etcd: HTTP status 404' })
})

test('a call that was not looked at is told apart from one that was lost', async () => {
  const codes = [http2.NGHTTP2_REFUSED_STREAM, http2.NGHTTP2_INTERNAL_ERROR]
  const calls = await answering((stream) => stream.close(codes.shift()))
  expect((await called(calls).told).failure?.message).toBe('Stream refused by server')
  const lost = await called(calls).told
  expect(lost.failure).toMatchObject({ code: status.UNAVAILABLE })
  expect(lost.failure?.message).not.toBe('Stream refused by server')
})

test('one that is cancelled is over at once, whoever does not answer', async () => {
  const calls = await answering(() => {})
  const { told, cancel } = called(calls)
  cancel()
  expect((await told).failure).toMatchObject({ code: status.CANCELLED })
})

test('where its member goes away, that is told, and nothing more is begun; what was asked is answered', async () => {
  let answerLater = () => {}
  const calls = await answering((stream, session) => {
    session.goaway()
    answerLater = () => {
      stream.respond(HEAD, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(framed('pong'))
    }
  })
  const lost = new Promise<void>((resolve) => calls.onLost(resolve))
  const { told } = called(calls)
  await lost
  expect((await called(calls).told).failure?.message).toContain('Failed to start HTTP/2 stream')
  answerLater()
  expect((await told).answer).toBe('pong')
})

test('what is under way when the connection ends may have been done', async () => {
  const server = createServer()
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket))
  server.on('stream', () => sockets[0]!.destroy())
  const calls = await opened(await listening(server))
  const { failure } = await called(calls).told
  expect(errorOf(failure, { endpoint: 'h:2379', isWrite: true, isAdmin: false, prefix: 'baton/' }).kind).toBe('unknown')
})

test('of a connection that ends by an error, nothing is concluded from the code of its streams', async () => {
  const calls = await answering((_stream, session) => session.goaway(http2.NGHTTP2_REFUSED_STREAM))
  const { failure } = await called(calls).told
  expect(errorOf(failure, { endpoint: 'h:2379', isWrite: true, isAdmin: false, prefix: 'baton/' }).kind).toBe('unknown')
})

test('to close it leaves no socket behind, though its member says that it goes and then stands still', async () => {
  const settings = Buffer.from('000000040000000000', 'hex')
  const goaway = Buffer.from('0000080700000000000000000100000000', 'hex')
  const sockets: Socket[] = []
  const server = createSocketServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.resume().write(settings)
  })
  const calls = await opened(await listening(server))
  onTestFinished(() => void sockets[0]!.destroy())
  const lost = new Promise<void>((resolve) => calls.onLost(resolve))
  const { told, cancel } = called(calls)
  sockets[0]!.write(goaway)
  await lost
  cancel()
  await told
  calls.close()
  // Whoever writes to one that is gone is told so.
  const isGone = () => {
    sockets[0]!.write(settings)
    return sockets[0]!.destroyed
  }
  await expect.poll(isGone).toBe(true)
})

test('who accepts and says nothing is given up', async () => {
  const silent = createSocketServer(() => {})
  await expect(opened(await listening(silent), 50)).rejects.toThrow('no answer within 50 ms')
})
