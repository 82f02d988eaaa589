import { SimulatedClock } from '@baton-lock/store/conformance'
import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { callBy, testDial } from '@baton-lock/test-support/client-stream'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, onTestFinished, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import { systemRandom } from '../random.ts'
import { Sender } from '../requests/sender.ts'
import type { StreamEnd } from './transport.ts'
import { WebSocketTransport } from './web-socket-transport.ts'

const renewal = { type: 'renew-session', session: 's' } as const
const closing = { type: 'close-session', session: 's' } as const
const alive = { status: 'alive', ttlMs: 1_000, places: 0 }
const refused = { error: new UnavailableError('connect ECONNREFUSED') }

function world(servers: readonly string[]) {
  const time = new SimulatedClock()
  const clock = clientClockOf(time)
  const { dial, ends } = testDial()
  const notices: string[] = []
  const notice = (text: string) => void notices.push(text)
  const transport = new WebSocketTransport({ bases: servers.map((server) => new URL(server)), dial, clock, notice })
  const sender = new Sender(transport, { clock, random: systemRandom, notice })
  onTestFinished(() => transport.close())
  return { time, transport, sender, ends, notices }
}

test('told to move, a client asks another server for what is new and waits for what it has asked this one', async () => {
  const { transport, ends, notices } = world(['http://a', 'http://b'])
  const before = callBy(transport, renewal)
  const told: StreamEnd[] = []
  transport.listen(
    { of: 'session', session: 's' },
    {
      onEvent: () => {},
      onEnd: (end) => {
        told.push(end)
        transport.listen({ of: 'session', session: 's' }, { onEvent: () => {}, onEnd: () => {} })
      },
    },
  )
  await settled()
  ends[0]!.greet()
  ends[0]!.say({ draining: true })
  const after = callBy(transport, closing)
  await settled()
  expect(ends.map(({ base, requests }) => [base, requests.map(([, { type }]) => type)])).toEqual([
    ['http://a', ['renew-session']],
    ['http://b', ['close-session']],
  ])
  expect([told, ends[0]!.isClosed]).toEqual([[], false])
  ends[0]!.reply(1, alive)
  expect(await before).toEqual(alive)
  expect(told).toEqual([{ reason: 'the server is about to stop', isMove: true }])
  expect(ends[0]!.isClosed).toBe(true)
  ends[1]!.greet()
  ends[1]!.reply(1, { status: 'closed' })
  expect(await after).toEqual({ status: 'closed' })
  await settled()
  expect(ends[1]!.frames.flatMap(({ listen = [] }) => listen.map(({ scope }) => scope))).toEqual([
    { of: 'session', session: 's' },
  ])
  expect([notices, transport.reconnects]).toEqual([[], 1])
})

test('what is asked of a server that goes before it has answered fails as ever, and is asked again elsewhere', async () => {
  const { transport, ends, notices } = world(['http://a', 'http://b'])
  const call = outcomeOf(callBy(transport, renewal))
  await settled()
  ends[0]!.greet()
  ends[0]!.say({ draining: true })
  ends[0]!.end({ error: new UnavailableError('the server is about to stop') })
  expect(await call).toBeInstanceOf(UnavailableError)
  void outcomeOf(callBy(transport, renewal))
  expect(ends.map(({ base }) => base)).toEqual(['http://a', 'http://b'])
  expect([notices, transport.reconnects]).toEqual([[], 1])
})

test('a client of one server tries that one again, and says nothing before it is away for longer than a restart takes', async () => {
  const { sender, ends, notices, time } = world(['http://a'])
  const first = sender.request(renewal)
  await settled()
  ends[0]!.greet()
  ends[0]!.reply(1, alive)
  await first
  ends[0]!.say({ draining: true })
  expect(ends[0]!.isClosed).toBe(true)
  const tryInVain = async () => {
    const failed = outcomeOf(sender.request(renewal))
    ends.at(-1)!.end(refused)
    expect(await failed).toMatchObject({ code: 'unavailable' })
  }
  await tryInVain()
  await time.advance(14_999)
  await tryInVain()
  expect(notices).toEqual([])
  await time.advance(1)
  await tryInVain()
  expect(notices).toEqual(['no answer from http://a: connect ECONNREFUSED; trying again'])
  const last = sender.request(renewal)
  await settled()
  ends.at(-1)!.greet()
  ends.at(-1)!.reply(1, alive)
  expect(await last).toEqual(alive)
  expect(notices.slice(1)).toEqual(['Baton answers again'])
})

test('once it has moved, a break is a break', async () => {
  const { transport, ends, notices } = world(['http://a', 'http://b'])
  void outcomeOf(callBy(transport, renewal))
  await settled()
  ends[0]!.greet()
  ends[0]!.say({ draining: true })
  void outcomeOf(callBy(transport, renewal))
  ends[1]!.greet()
  ends[1]!.end({ error: new UnavailableError('connection reset') })
  expect(notices).toEqual(['leaving http://b (connection reset) for http://a'])
})

test('a client that is closed while it moves leaves nothing behind', async () => {
  const { transport, ends } = world(['http://a', 'http://b'])
  const call = outcomeOf(callBy(transport, renewal))
  await settled()
  ends[0]!.greet()
  ends[0]!.say({ draining: true })
  await transport.close()
  expect(await call).toMatchObject({ message: 'the client was closed' })
  expect(ends.map(({ isClosed }) => isClosed)).toEqual([true])
})
