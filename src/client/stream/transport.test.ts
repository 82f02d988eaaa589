import { expect, onTestFinished, test } from 'vitest'
import { errorBody } from '../../protocol/index.ts'
import { SimulatedClock } from '../../testing/index.ts'
import { settled } from '../../testing/simulated-clock.ts'
import { clientClockOf } from '../../testing/unit/client-clock.ts'
import { testDial } from '../../testing/unit/client-stream.ts'
import { outcomeOf } from '../../testing/unit/client-world.ts'
import { UnavailableError } from '../errors.ts'
import type { StreamHandlers, Transport } from '../transport.ts'
import { StreamTransport } from './transport.ts'

function world({ servers = ['http://a', 'http://b'], hasFallback = true } = {}) {
  const clock = new SimulatedClock()
  const { dial, ends } = testDial()
  const notices: string[] = []
  /** What went by the other way. */
  const other: unknown[] = []
  let isOtherClosed = false
  const fallback = (): Transport => ({
    call: async (request) => {
      other.push(request)
      return errorBody('busy') as never
    },
    listen: (scope) => {
      other.push(scope)
      return { close: () => {} }
    },
    close: async () => {
      isOtherClosed = true
    },
  })
  const transport = new StreamTransport({
    bases: servers.map((server) => new URL(server)),
    dial,
    ...(hasFallback && { fallback }),
    clock: clientClockOf(clock),
    notice: (notice) => notices.push(notice),
  })
  onTestFinished(() => transport.close())
  return { clock, transport, ends, notices, other, isOtherClosed: () => isOtherClosed }
}

const renewal = { type: 'renew-session', session: 's' } as const
const alive = { status: 'alive', ttlMs: 1_000, places: 0 }
const gone = { error: new UnavailableError('connection reset') }

function listener(): StreamHandlers & { readonly told: unknown[] } {
  const told: unknown[] = []
  return { told, onEvent: (event) => told.push(event), onEnd: (end) => told.push(end) }
}

test('nobody is dialled before something is asked, and then one connection does for all', async () => {
  const { transport, ends } = world()
  expect(ends).toHaveLength(0)
  const calls = [transport.call(renewal), transport.call(renewal)]
  transport.listen({ of: 'all' }, listener())
  await settled()
  expect(ends).toHaveLength(1)
  ends[0]!.greet()
  for (const number of [1, 2]) ends[0]!.reply(number, alive)
  for (const call of calls) expect(await call).toMatchObject({ status: 'alive' })
})

test('when a connection breaks its calls are rejected and its streams end, and the next call goes to the next server', async () => {
  const { transport, ends, notices } = world()
  const call = outcomeOf(transport.call(renewal))
  const streams = listener()
  transport.listen({ of: 'session', session: 's' }, streams)
  await settled()
  ends[0]!.greet()
  ends[0]!.end(gone)
  expect(await call).toMatchObject({ message: expect.stringMatching(/no answer from http:\/\/a: connection reset/) })
  expect(streams.told).toMatchObject([{ reason: expect.stringContaining('connection reset'), isAnnounced: false }])
  expect(notices).toEqual(['leaving http://a (connection reset) for http://b'])
  expect(transport.reconnects).toBe(1)
  void outcomeOf(transport.call(renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
})

test('after a break, numbers begin anew and nothing is sent again by itself', async () => {
  const { transport, ends } = world()
  void outcomeOf(transport.call(renewal))
  await settled()
  ends[0]!.end(gone)
  void outcomeOf(transport.call({ type: 'close-session', session: 's' }))
  await settled()
  expect(ends[1]!.requests).toEqual([[1, { type: 'close-session', session: 's' }]])
})

test('what a connection says after it was left is not heard', async () => {
  const { transport, ends } = world()
  void outcomeOf(transport.call(renewal))
  await settled()
  ends[0]!.end(gone)
  const second = transport.call(renewal)
  await settled()
  ends[0]!.end(gone)
  ends[0]!.reply(1, { ...alive, places: 7 })
  ends[1]!.reply(1, alive)
  expect(await second).toMatchObject({ places: 0 })
  expect(transport.reconnects).toBe(1)
})

test('where no stream is allowed, requests go the other way for a minute, and then a stream is tried again', async () => {
  const { transport, ends, other, notices, clock } = world()
  const call = outcomeOf(transport.call(renewal))
  ends[0]!.end({ error: new UnavailableError('it answered 403'), isForbidden: true })
  expect(await call).toBeInstanceOf(UnavailableError)
  expect(notices).toEqual(['no stream to http://a (it answered 403); requests go by HTTP, one by one'])
  await transport.call(renewal)
  transport.listen({ of: 'all' }, listener())
  expect(other).toEqual([renewal, { of: 'all' }])
  await clock.advance(59_999)
  await transport.call(renewal)
  expect(ends).toHaveLength(1)
  await clock.advance(1)
  const again = transport.call(renewal)
  await settled()
  ends[1]!.greet()
  ends[1]!.reply(1, alive)
  expect(await again).toMatchObject({ status: 'alive' })
  expect(notices).toHaveLength(1)
})

test('where somebody lets one in and does not greet, requests go the other way for a while', async () => {
  const { transport, ends, other, clock } = world({ servers: ['http://a'] })
  const call = outcomeOf(transport.call(renewal, { timeoutMs: 8_000 }))
  await clock.advance(4_999)
  expect(ends[0]!.isClosed).toBe(false)
  await clock.advance(1)
  expect(await call).toBeInstanceOf(UnavailableError)
  expect(ends[0]!.isClosed).toBe(true)
  await transport.call(renewal)
  expect(other).toEqual([renewal])
  await clock.advance(10_000)
  void outcomeOf(transport.call(renewal))
  expect(ends).toHaveLength(2)
})

test('so do they where a call is not answered before there was a greeting', async () => {
  const { transport, other, clock } = world({ servers: ['http://a'] })
  const call = outcomeOf(transport.call(renewal, { timeoutMs: 2_000 }))
  await clock.advance(2_000)
  expect(await call).toBeInstanceOf(UnavailableError)
  await transport.call(renewal)
  expect(other).toEqual([renewal])
})

test('of several servers each is tried before that', async () => {
  const { transport, ends, other, clock, notices } = world()
  for (const expected of [1, 2]) {
    const call = outcomeOf(transport.call(renewal, { timeoutMs: 2_000 }))
    await clock.advance(2_000)
    expect(await call).toBeInstanceOf(UnavailableError)
    expect([ends.length, other.length]).toEqual([expected, 0])
  }
  expect(notices[0]).toContain('leaving http://a')
  await transport.call(renewal)
  expect(other).toEqual([renewal])
})

test('a greeting in time is enough, however long the first answer takes', async () => {
  const { transport, ends, clock } = world()
  const call = transport.call(renewal, { timeoutMs: 9_000 })
  await clock.advance(4_000)
  ends[0]!.greet()
  await clock.advance(4_000)
  ends[0]!.reply(1, alive)
  expect(await call).toMatchObject({ status: 'alive' })
  await clock.advance(60_000)
  expect(ends).toHaveLength(1)
})

test('a refusal at the upgrade is the answer: nobody moves on, and the next call asks again', async () => {
  const { transport, ends, notices } = world()
  const refusal = errorBody('unauthorised')
  const call = transport.call(renewal)
  const streams = listener()
  transport.listen({ of: 'all' }, streams)
  await settled()
  ends[0]!.end({ error: new UnavailableError('it answered 401'), refusal })
  expect(await call).toEqual(refusal)
  expect(streams.told).toMatchObject([{ reason: refusal.message, refusal }])
  void outcomeOf(transport.call(renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://a'])
  expect(notices).toEqual([])
})

test('without another way, a stream that is forbidden at one server is tried at the next', async () => {
  const { transport, ends } = world({ hasFallback: false })
  void outcomeOf(transport.call(renewal))
  ends[0]!.end({ error: new UnavailableError('it answered 404'), isForbidden: true })
  void outcomeOf(transport.call(renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
})

test('what was asked by the other way is kept when it is released on a connection', async () => {
  const { transport, ends, clock } = world()
  const at = { operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold: 'h' } as const
  void outcomeOf(transport.call(renewal))
  ends[0]!.end({ error: new UnavailableError('it answered 403'), isForbidden: true })
  await outcomeOf(transport.call({ type: 'acquire', ...at }))
  await clock.advance(60_000)
  const asked = transport.call({ type: 'acquire', ...at })
  await settled()
  ends[1]!.reply(1, { status: 'granted', fence: 1, attempt: 1 })
  await asked
  void outcomeOf(transport.call({ type: 'release', ...at, fence: 1, outcome: 'success' }))
  await settled()
  expect(ends[1]!.frames.at(-1)).toMatchObject({ from: 2, keep: [2] })
})

test('a server over another store than the one before it is told of', async () => {
  const { transport, ends, notices } = world()
  for (const [index, store] of ['one', 'two'].entries()) {
    void outcomeOf(transport.call(renewal))
    ends[index]!.greet(store)
    ends[index]!.end(gone)
  }
  expect(notices.some((notice) => notice.includes('store'))).toBe(true)
})

test('after close nothing is asked, and nobody is dialled', async () => {
  const { transport, ends, isOtherClosed } = world()
  const call = outcomeOf(transport.call(renewal))
  await transport.close()
  expect(await call).toMatchObject({ message: 'the client was closed' })
  expect(ends[0]!.isClosed).toBe(true)
  await expect(transport.call(renewal)).rejects.toThrow('the client was closed')
  expect(() => transport.listen({ of: 'all' }, listener())).toThrow('the client was closed')
  expect(ends).toHaveLength(1)
  expect(isOtherClosed()).toBe(false)
})
