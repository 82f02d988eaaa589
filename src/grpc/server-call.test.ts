import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { systemClientClock } from '../client/clock.ts'
import {
  asIs,
  chatting,
  echo,
  grpcClient,
  grpcServer,
  pouring,
  promised,
  sizeOf,
  unary,
} from '../testing/unit/grpc-world.ts'
import { CallCancelled, type Method, type SingleCall, type StreamCall } from './index.ts'

const MiB = 1024 * 1024

/** A call that is left open, and what becomes of it. */
function hanging(): { method: Method; begun: Promise<SingleCall>; cancelled: Promise<void> } {
  const begun = promised<SingleCall>()
  const cancelled = promised<void>()
  const handle = (call: SingleCall) => {
    call.onCancel(cancelled.resolve)
    begun.resolve(call)
  }
  return { method: { kind: 'single', handle }, begun: begun.promise, cancelled: cancelled.promise }
}

describe('back-pressure', () => {
  test('a handler that does not read stops its client, and others go on', async () => {
    const begun = promised<StreamCall>()
    const { path } = await grpcServer({ '/t/Chat': { kind: 'stream', handle: begun.resolve }, '/t/Echo': echo })
    const client = grpcClient(path)
    const call = chatting(client)
    call.on('error', () => {})
    let acknowledged = 0
    const total = 64
    for (let each = 0; each < total; each++) call.write(Buffer.alloc(MiB, each), () => acknowledged++)
    call.end()
    const { messages, end } = await begun.promise.then((each) => ({
      messages: each.messages()[Symbol.asyncIterator](),
      end: () => each.end(),
    }))
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

  test('a client that does not read stops its handler', async () => {
    let sent = 0
    const full = promised<void>()
    const handle = async (call: SingleCall) => {
      for (; sent < 1_000; sent++) {
        if (call.send(Buffer.alloc(65_536))) continue
        full.resolve()
        await call.drained()
      }
      call.end()
    }
    const { path } = await grpcServer({ '/t/Pour': { kind: 'single', handle }, '/t/Echo': echo })
    const client = grpcClient(path)
    const call = pouring(client, 0)
    await full.promise
    for (let each = 0; each < 50; each++) await unary(client, '/t/Echo', Buffer.from('x'))
    expect(sent).toBeLessThan(100)
    expect(await sizeOf(call)).toBe(1_000 * 65_536)
  })
})

describe('the end of a call', () => {
  test('a client that cancels is noticed, and what is sent then is dropped', async () => {
    const { method, begun, cancelled } = hanging()
    const { path } = await grpcServer({ '/t/Pour': method, '/t/Echo': echo })
    const client = grpcClient(path)
    const stream = pouring(client, 1)
    stream.on('error', () => {})
    const call = await begun
    stream.cancel()
    await cancelled
    expect(call.isCancelled).toBe(true)
    expect(call.send(Buffer.alloc(10))).toBe(false)
    await call.drained()
    call.end()
    call.fail({ code: 13, message: 'too late' })
    let isTold = false
    call.onCancel(() => {
      isTold = true
    })
    expect(isTold).toBe(true)
    expect(await unary(client, '/t/Echo', Buffer.from('x'))).toEqual(Buffer.from('x'))
  })

  test('a deadline of the client cancels', async () => {
    const { method, cancelled } = hanging()
    const { path } = await grpcServer({ '/t/Echo': method })
    const deadline = systemClientClock().wallMs() + 50
    const error = await new Promise<ServiceError | null>((resolve) => {
      grpcClient(path).makeUnaryRequest('/t/Echo', asIs, asIs, Buffer.alloc(0), { deadline }, (each) => resolve(each))
    })
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED)
    await cancelled
  })

  test('a client that goes away cancels, and ends a loop over messages by an error', async () => {
    const thrown = promised<unknown>()
    const begun = promised<void>()
    const handle = async (call: StreamCall) => {
      try {
        for await (const _ of call.messages()) begun.resolve()
      } catch (error) {
        thrown.resolve(error)
      }
    }
    const { path } = await grpcServer({ '/t/Chat': { kind: 'stream', handle } })
    const client = grpcClient(path)
    const call = chatting(client)
    call.on('error', () => {})
    call.write(Buffer.from('a'))
    await begun.promise
    client.close()
    call.cancel()
    expect(await thrown.promise).toBeInstanceOf(CallCancelled)
  })

  test('nobody is told of a cancel after the end', async () => {
    let isTold = false
    const handle = (call: StreamCall) => {
      call.onCancel(() => {
        isTold = true
      })
      call.send(Buffer.from('a'))
      call.end()
      call.end()
      call.send(Buffer.from('b'))
    }
    const { path, server } = await grpcServer({ '/t/Chat': { kind: 'stream', handle } })
    const call = chatting(grpcClient(path))
    const replies: string[] = []
    for await (const reply of call) replies.push(String(reply))
    await server.close()
    expect([replies, isTold]).toEqual([['a'], false])
  })

  test('a server that closes cancels its calls, and its clients are told', async () => {
    const { method, begun, cancelled } = hanging()
    const { path, server } = await grpcServer({ '/t/Echo': method })
    const reply = unary(grpcClient(path), '/t/Echo', Buffer.alloc(0)).catch(({ code }: ServiceError) => code)
    await begun
    await server.close()
    await cancelled
    expect(await reply).toBe(status.UNAVAILABLE)
  })
})
