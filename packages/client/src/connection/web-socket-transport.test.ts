import { errorBody } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { callBy, testDial } from '@baton-lock/test-support/client-stream'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, onTestFinished, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import type { StreamHandlers } from './transport.ts'
import { WebSocketTransport } from './web-socket-transport.ts'

function world({ servers = ['http://a', 'http://b'] } = {}) {
  const clock = new SimulatedClock()
  const { dial, ends } = testDial()
  const notices: string[] = []
  const transport = new WebSocketTransport({
    bases: servers.map((server) => new URL(server)),
    dial,
    clock: clientClockOf(clock),
    notice: (notice) => notices.push(notice),
  })
  onTestFinished(() => transport.close())
  return { clock, transport, ends, notices }
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
  const calls = [callBy(transport, renewal), callBy(transport, renewal)]
  transport.listen({ of: 'all' }, listener())
  await settled()
  expect(ends).toHaveLength(1)
  ends[0]!.greet()
  for (const number of [1, 2]) ends[0]!.reply(number, alive)
  for (const call of calls) expect(await call).toMatchObject({ status: 'alive' })
})

test('when a connection breaks its calls are rejected and its streams end, and the next call goes to the next server', async () => {
  const { transport, ends, notices } = world()
  const call = outcomeOf(callBy(transport, renewal))
  const streams = listener()
  transport.listen({ of: 'session', session: 's' }, streams)
  await settled()
  ends[0]!.greet()
  ends[0]!.end(gone)
  expect(await call).toMatchObject({ message: expect.stringMatching(/no answer from http:\/\/a: connection reset/) })
  expect(streams.told).toMatchObject([{ reason: expect.stringContaining('connection reset'), isAnnounced: false }])
  expect(notices).toEqual(['leaving http://a (connection reset) for http://b'])
  expect(transport.reconnects).toBe(1)
  void outcomeOf(callBy(transport, renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
})

test('after a break, numbers begin anew and nothing is sent again by itself', async () => {
  const { transport, ends } = world()
  void outcomeOf(callBy(transport, renewal))
  await settled()
  ends[0]!.end(gone)
  void outcomeOf(callBy(transport, { type: 'close-session', session: 's' }))
  await settled()
  expect(ends[1]!.requests).toEqual([[1, { type: 'close-session', session: 's' }]])
})

test('what a connection says after it was left is not heard', async () => {
  const { transport, ends } = world()
  void outcomeOf(callBy(transport, renewal))
  await settled()
  ends[0]!.end(gone)
  const second = callBy(transport, renewal)
  await settled()
  ends[0]!.end(gone)
  ends[0]!.reply(1, { ...alive, places: 7 })
  ends[1]!.reply(1, alive)
  expect(await second).toMatchObject({ places: 0 })
  expect(transport.reconnects).toBe(1)
})

test.each([4_999, 5_000])('a server that has not greeted after 5 s is left: after %d ms', async (ms) => {
  const { transport, ends, clock, notices } = world()
  const call = outcomeOf(callBy(transport, renewal, 8_000))
  await clock.advance(ms)
  expect(ends[0]!.isClosed).toBe(ms === 5_000)
  if (ms < 5_000) return
  expect(await call).toMatchObject({ message: expect.stringMatching(/no greeting came for 5000 ms: .* a proxy/) })
  expect(notices).toEqual([expect.stringMatching(/^leaving http:\/\/a \(no greeting came .*\) for http:\/\/b$/)])
  void outcomeOf(callBy(transport, renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
})

test('so is one that has not greeted when the time of a call is over', async () => {
  const { transport, ends, clock } = world()
  const call = outcomeOf(callBy(transport, renewal, 2_000))
  await clock.advance(2_000)
  expect(await call).toMatchObject({ message: expect.stringMatching(/nothing came for 2000 ms: .* a proxy/) })
  void outcomeOf(callBy(transport, renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
})

test('a greeting in time is enough, however long the first answer takes', async () => {
  const { transport, ends, clock } = world()
  const call = callBy(transport, renewal, 9_000)
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
  const call = callBy(transport, renewal)
  const streams = listener()
  transport.listen({ of: 'all' }, streams)
  await settled()
  ends[0]!.end({ error: new UnavailableError('it answered 401'), refusal })
  expect(await call).toEqual(refusal)
  expect(streams.told).toMatchObject([{ reason: refusal.message, refusal }])
  void outcomeOf(callBy(transport, renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://a'])
  expect(notices).toEqual([])
})

test('a server over another store than the one before it is told of', async () => {
  const { transport, ends, notices } = world()
  for (const [index, store] of ['one', 'two'].entries()) {
    void outcomeOf(callBy(transport, renewal))
    ends[index]!.greet(store)
    ends[index]!.end(gone)
  }
  expect(notices.some((notice) => notice.includes('store'))).toBe(true)
})

test('after close nothing is asked, and nobody is dialled', async () => {
  const { transport, ends } = world()
  const call = outcomeOf(callBy(transport, renewal))
  await transport.close()
  expect(await call).toMatchObject({ message: 'the client was closed' })
  expect(ends[0]!.isClosed).toBe(true)
  await expect(callBy(transport, renewal)).rejects.toThrow('the client was closed')
  expect(() => transport.listen({ of: 'all' }, listener())).toThrow('the client was closed')
  expect(ends).toHaveLength(1)
})
