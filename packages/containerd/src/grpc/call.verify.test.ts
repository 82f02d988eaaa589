import { systemClientClock } from '@baton-lock/client/clock'
import { answerOf, message, session, started } from '@baton-lock/test-support/grpc-session'
import {
  asIs,
  chatting,
  echo,
  grpcClient,
  grpcServer,
  pouring,
  promised,
  silent,
  unary,
} from '@baton-lock/test-support/grpc-world'
import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, test, vi } from 'vitest'
import type { Call, Method } from './call.ts'

const MiB = 1024 * 1024

/** A call that is left open until the test ends it. */
function hanging() {
  const begun = promised<Call>()
  const ended = promised<void>()
  const method: Method = (call) => {
    begun.resolve(call)
    return ended.promise
  }
  return { method, begun: begun.promise, end: ended.resolve }
}

const aborted = (call: Call) => vi.waitFor(() => expect(call.signal.aborted).toBe(true))

describe('back-pressure', () => {
  test('a method that does not read stops its client, and others go on', async () => {
    const { method, begun, end } = hanging()
    const { path } = await grpcServer({ '/t/Chat': method, '/t/Echo': echo })
    const client = grpcClient(path)
    const call = chatting(client)
    call.on('error', () => {})
    let acknowledged = 0
    const total = 64
    for (let each = 0; each < total; each++) call.write(Buffer.alloc(MiB, each), () => acknowledged++)
    call.end()
    const messages = (await begun).messages()
    // Whatever has gone out by now, more than the window has not.
    for (let each = 0; each < 50; each++) await unary(client, '/t/Echo', Buffer.from('x'))
    expect(acknowledged).toBeLessThan(8)
    for (let each = 0; each < total; each++) {
      const { value } = await messages.next()
      expect([value!.length, value![0], value!.at(-1)]).toEqual([MiB, each, each])
    }
    expect((await messages.next()).done).toBe(true)
    end()
  })

  test('a client that does not read stops its method', async () => {
    let sent = 0
    const method: Method = async (call) => {
      for (; sent < 1_000; sent++) await call.send(Buffer.alloc(65_536))
    }
    const { path } = await grpcServer({ '/t/Pour': method, '/t/Echo': echo })
    const client = await session(path)
    const call = started(client, '/t/Pour')
    call.end(message(''))
    await new Promise((resolve) => call.once('response', resolve))
    for (let each = 0; each < 50; each++) await unary(grpcClient(path), '/t/Echo', Buffer.from('x'))
    expect(sent).toBeLessThan(10)
    expect((await answerOf(call)).body.length).toBe(1_000 * (5 + 65_536))
  })
})

describe('the end of a call', () => {
  test('a client that cancels is noticed, and nothing more is sent', async () => {
    const { method, begun, end } = hanging()
    const { path } = await grpcServer({ '/t/Pour': method, '/t/Echo': echo })
    const client = grpcClient(path)
    const stream = pouring(client, 1)
    stream.on('error', () => {})
    const call = await begun
    stream.cancel()
    await aborted(call)
    await expect(call.send(Buffer.alloc(10))).rejects.toThrow('the client went away')
    end()
    expect(await unary(client, '/t/Echo', Buffer.from('x'))).toEqual(Buffer.from('x'))
  })

  test('a client that cancels ends a wait for room to send', async () => {
    const thrown = promised<unknown>()
    const method: Method = async (call) => {
      for (;;) await call.send(Buffer.alloc(65_536)).catch((error) => Promise.reject(thrown.resolve(error)))
    }
    const { path } = await grpcServer({ '/t/Pour': method })
    const stream = pouring(grpcClient(path), 0)
    stream.on('error', () => {})
    await new Promise((resolve) => stream.once('metadata', resolve))
    stream.cancel()
    expect(await thrown.promise).toBeInstanceOf(Error)
  })

  test('a client that cancels while its messages are not read is noticed', async () => {
    const { method, begun, end } = hanging()
    const { path } = await grpcServer({ '/t/Chat': method })
    const stream = chatting(grpcClient(path))
    stream.on('error', () => {})
    stream.write(Buffer.alloc(MiB))
    const call = await begun
    stream.cancel()
    await aborted(call)
    end()
  })

  test('the deadline of a client aborts the call', async () => {
    const { method, begun, end } = hanging()
    const { path } = await grpcServer({ '/t/Echo': method })
    const deadline = systemClientClock().wallMs() + 50
    const error = await new Promise<ServiceError | null>((resolve) => {
      grpcClient(path).makeUnaryRequest('/t/Echo', asIs, asIs, Buffer.alloc(0), { deadline }, (each) => resolve(each))
    })
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED)
    await aborted(await begun)
    end()
  })

  test('a client that goes away ends a loop over its messages', async () => {
    const over = promised<Call>()
    const begun = promised<void>()
    const method: Method = async (call) => {
      try {
        for await (const _ of call.messages()) begun.resolve()
      } finally {
        over.resolve(call)
      }
    }
    const { path } = await grpcServer({ '/t/Chat': method })
    const client = grpcClient(path)
    const call = chatting(client)
    call.on('error', () => {})
    call.write(Buffer.from('a'))
    await begun.promise
    client.close()
    call.cancel()
    await over.promise
  })

  test('a call that has ended well is not aborted', async () => {
    const begun = promised<Call>()
    const method: Method = async (call) => {
      await call.send(Buffer.from('a'))
      begun.resolve(call)
    }
    const { path, server } = await grpcServer({ '/t/Chat': method })
    const call = chatting(grpcClient(path))
    const replies: string[] = []
    for await (const reply of call) replies.push(String(reply))
    await server.close()
    expect([replies, (await begun.promise).signal.aborted]).toEqual([['a'], false])
  })

  test('a server that stops cancels its calls, and its clients are told why', async () => {
    const { method, begun, end } = hanging()
    const { path, server } = await grpcServer({ '/t/Echo': silent, '/t/Chat': method })
    const client = grpcClient(path)
    const single = unary(client, '/t/Echo', Buffer.alloc(0)).catch((error: ServiceError) => error)
    const stream = chatting(client)
    const failed = new Promise((resolve) => stream.on('error', resolve))
    stream.write(Buffer.from('a'))
    await begun
    await server.close()
    end()
    const expected = { code: status.UNAVAILABLE, details: 'the content store is stopping' }
    for (const each of [single, failed]) expect(await each).toMatchObject(expected)
  })
})
