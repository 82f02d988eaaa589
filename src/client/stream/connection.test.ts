import { expect, test } from 'vitest'
import { SimulatedClock } from '../../testing/index.ts'
import { settled } from '../../testing/simulated-clock.ts'
import { clientClockOf } from '../../testing/unit/client-clock.ts'
import { type FarEnd, testDial } from '../../testing/unit/client-stream.ts'
import { outcomeOf } from '../../testing/unit/client-world.ts'
import { UnavailableError } from '../errors.ts'
import { Asks } from './asks.ts'
import { Connection } from './connection.ts'
import type { WireEnd } from './wire.ts'

interface Opened {
  readonly connection: Connection
  readonly far: FarEnd
  readonly clock: SimulatedClock
  /** Why it was found to be of no use. */
  readonly useless: WireEnd[]
}

function open({ clock = new SimulatedClock(), asks = new Asks() } = {}): Opened {
  const { dial, ends } = testDial()
  const useless: WireEnd[] = []
  const wire = dial(new URL('http://a'), {
    onText: (text) => connection.onText(text),
    onBeat: () => connection.onBeat(),
    onEnd: () => {},
  })
  const connection: Connection = new Connection({
    wire,
    clock: clientClockOf(clock),
    asks,
    onGreeting: () => {},
    onUseless: (end) => {
      useless.push(end)
      connection.end(end.error as UnavailableError)
    },
  })
  return { connection, far: ends[0]!, clock, useless }
}

/** Longer than a request waits for others. */
const HOLD_MS = 10

const ask = (hold: string) =>
  ({ type: 'acquire', operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold }) as const
const release = (hold: string) =>
  ({
    type: 'release',
    operation: 'lock',
    resource: 'r',
    node: 'a',
    owner: 'a',
    hold,
    fence: 1,
    outcome: 'success',
  }) as const
const granted = { status: 'granted', fence: 1, attempt: 1 }
const released = { status: 'released', outcome: 'success', holdsLeft: 0 }
const renewal = { type: 'renew-session', session: 's' } as const
const alive = { status: 'alive', ttlMs: 1_000, places: 0 }

test('what is asked in one turn goes into one frame, numbered from one', async () => {
  const { connection, far } = open()
  const first = connection.call(ask('h1'), 1_000)
  // Somebody who was answered asks for the next thing in the same turn.
  const second = Promise.resolve().then(() => connection.call(ask('h2'), 1_000))
  await settled()
  expect(far.frames).toMatchObject([{ from: 1, requests: [{ hold: 'h1' }, { hold: 'h2' }] }])
  far.say({
    replies: [
      [2, { ...granted, fence: 22 } as never],
      [1, { ...granted, fence: 11 } as never],
    ],
  })
  expect(await first).toMatchObject({ fence: 11 })
  expect(await second).toMatchObject({ fence: 22 })
})

test('while a frame is under way others gather for a moment, or until something comes', async () => {
  const { connection, far, clock } = open()
  void connection.call(renewal, 1_000)
  await settled()
  void connection.call(renewal, 1_000)
  await settled()
  void connection.call(renewal, 1_000)
  await settled()
  expect(far.frames).toHaveLength(1)
  far.reply(1, alive)
  await settled()
  expect(far.frames[1]).toMatchObject({ from: 2, requests: [renewal, renewal], acked: 1 })
  void connection.call(renewal, 1_000)
  await settled()
  expect(far.frames).toHaveLength(2)
  await clock.advance(HOLD_MS)
  expect(far.frames[2]).toMatchObject({ from: 4, requests: [renewal] })
})

test('what every ask says is said once, and again for another session', async () => {
  const { connection, far, clock } = open()
  const place = { namespace: 'n', operation: 'lock', resource: 'r', node: 'a', owner: 'a' } as const
  void connection.call({ type: 'acquire', ...place, hold: 'h1', session: 's1' }, 1_000)
  void connection.call({ type: 'acquire', ...place, node: 'b', hold: 'h2', session: 's2' }, 1_000)
  void connection.call({ type: 'renew-session', session: 's1' }, 1_000)
  await clock.advance(HOLD_MS)
  void connection.call({ type: 'acquire', ...place, hold: 'h3', session: 's2' }, 1_000)
  await clock.advance(HOLD_MS)
  const rest = { operation: 'lock', resource: 'r', owner: 'a' }
  expect(far.frames).toEqual([
    {
      defaults: { namespace: 'n', node: 'a', session: 's1' },
      from: 1,
      requests: [
        { type: 'acquire', ...rest, hold: 'h1' },
        { type: 'acquire', ...rest, node: 'b', hold: 'h2', session: 's2' },
        { type: 'renew-session', session: 's1' },
      ],
    },
    {
      defaults: { namespace: 'n', node: 'a', session: 's2' },
      from: 4,
      requests: [{ type: 'acquire', ...rest, hold: 'h3' }],
    },
  ])
})

test('numbers go on over frames', async () => {
  const { connection, far, clock } = open()
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  void connection.call(renewal, 1_000)
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.map(({ from, requests }) => [from, requests?.length])).toEqual([
    [1, 1],
    [2, 2],
  ])
})

test('more requests than a frame may carry go into the next one, in order', async () => {
  const { connection, far, clock } = open()
  for (let count = 0; count < 1_001; count++) void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.map(({ from, requests }) => [from, requests?.length])).toEqual([
    [1, 1_000],
    [1_001, 1],
  ])
})

test('large requests go into frames of their own', async () => {
  const { connection, far, clock } = open()
  const large = { ...release('h'), result: 'x'.repeat(300_000) }
  for (let count = 0; count < 3; count++) void connection.call(large, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.map(({ requests }) => requests?.length)).toEqual([1, 1, 1])
})

test('while too much has not left, requests gather until something has', async () => {
  const { connection, far, clock } = open()
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  far.unsent = 2 * 1024 * 1024
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames).toHaveLength(1)
  far.unsent = 0
  far.taken[0]!()
  await clock.advance(HOLD_MS)
  expect(far.frames).toHaveLength(2)
  expect(far.frames[1]).toMatchObject({ from: 2, requests: [renewal, renewal] })
})

test('every reply up to a number is acknowledged with the next frame, and none beyond a gap', async () => {
  const { connection, far, clock } = open()
  for (let count = 0; count < 3; count++) void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[0]).not.toHaveProperty('acked')
  far.reply(1, alive)
  far.reply(3, alive)
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[1]).toMatchObject({ from: 4, acked: 1 })
  far.reply(2, alive)
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[2]).toMatchObject({ from: 5, acked: 3 })
  void connection.call(renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[3]).not.toHaveProperty('acked')
})

test('a release on the connection of its ask need not be kept, one of another ask must', async () => {
  const asks = new Asks()
  const before = open({ asks })
  void outcomeOf(before.connection.call(ask('h1'), 1_000))
  await settled()
  const { connection, far, clock } = open({ asks })
  void connection.call(release('h1'), 1_000)
  void connection.call(ask('h2'), 1_000)
  await settled()
  expect(far.frames[0]).toMatchObject({ from: 1, keep: [1] })
  void connection.call(release('h2'), 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[1]).not.toHaveProperty('keep')
})

test('a call that is not answered in time is rejected alone, where something else has come meanwhile', async () => {
  const { connection, far, clock, useless } = open()
  const slow = outcomeOf(connection.call(renewal, 500))
  await settled()
  await clock.advance(400)
  far.greet()
  await clock.advance(99)
  const other = connection.call(renewal, 500)
  await clock.advance(1)
  expect(await slow).toBeInstanceOf(UnavailableError)
  expect(useless).toEqual([])
  far.reply(2, alive)
  expect(await other).toMatchObject({ status: 'alive' })
})

test('a connection on which nothing came since a call was made is of no use when its time is over', async () => {
  const { connection, clock, far, useless } = open()
  far.greet()
  await clock.advance(1)
  const calls = [outcomeOf(connection.call(renewal, 500)), outcomeOf(connection.call(renewal, 9_000))]
  await clock.advance(499)
  expect(useless).toEqual([])
  await clock.advance(1)
  expect(useless).toMatchObject([{ isForbidden: false }])
  for (const call of calls) expect(await call).toBeInstanceOf(UnavailableError)
})

test('the call whose time is over first decides when it is looked at, whichever was made first', async () => {
  const { connection, clock, far } = open()
  const long = outcomeOf(connection.call(renewal, 5_000))
  await clock.advance(100)
  const short = outcomeOf(connection.call(renewal, 200))
  await clock.advance(150)
  far.beat()
  await clock.advance(50)
  expect(await short).toBeInstanceOf(UnavailableError)
  far.reply(1, alive)
  expect(await long).toMatchObject({ status: 'alive' })
})

test('one that listens and hears nothing for 45 s, not even a beat, is of no use', async () => {
  const { connection, clock, far, useless } = open()
  const ends: string[] = []
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: (reason) => ends.push(reason) })
  await clock.advance(44_000)
  far.beat()
  await clock.advance(44_999)
  expect([useless.length, ends.length]).toEqual([0, 0])
  await clock.advance(1)
  expect([useless.length, ends.length]).toEqual([1, 1])
})

test('a connection with nothing to wait for sets no timer', async () => {
  const { connection, clock, far, useless } = open()
  const call = connection.call(renewal, 500)
  await settled()
  far.reply(1, alive)
  await call
  await clock.advance(200_000)
  expect(useless).toEqual([])
})

test('a release whose answer came after its asker had given it up is not acknowledged for a minute', async () => {
  const { connection, clock, far } = open()
  const given = connection.call(ask('h'), 500)
  await settled()
  far.reply(1, granted)
  await given
  const first = outcomeOf(connection.call(release('h'), 500))
  await clock.advance(499)
  far.beat()
  await clock.advance(1)
  expect(await first).toBeInstanceOf(UnavailableError)
  // It is repeated, and the answer to the first comes before the connection breaks.
  void outcomeOf(connection.call(release('h'), 90_000))
  await settled()
  far.reply(2, released)
  void outcomeOf(connection.call(renewal, 90_000))
  await settled()
  expect(far.frames.at(-1)).not.toHaveProperty('acked', 2)
  for (let beats = 0; beats < 4; beats++) {
    await clock.advance(15_000)
    far.beat()
  }
  far.reply(3, released)
  void outcomeOf(connection.call(renewal, 90_000))
  await settled()
  expect(far.frames.at(-1)).toMatchObject({ acked: 3 })
})

test('events go to those who listen, by number, until they do not', async () => {
  const { connection, far } = open()
  const heard: unknown[] = []
  const onEnd = () => {}
  const one = connection.listen(
    { scope: { of: 'session', session: 's' } },
    { onEvent: (event) => heard.push(['one', event]), onEnd },
  )
  connection.listen({ scope: { of: 'all' }, lastId: 'e-7' }, { onEvent: (_, id) => heard.push(['two', id]), onEnd })
  await settled()
  expect(far.frames).toEqual([
    {
      listen: [
        { id: 1, scope: { of: 'session', session: 's' } },
        { id: 2, scope: { of: 'all' }, lastId: 'e-7' },
      ],
    },
  ])
  const event = { type: 'reset' } as const
  far.say({
    events: [
      [2, 'e-8', event],
      [1, 'e-9', event],
    ],
  })
  one.close()
  one.close()
  far.say({ events: [[1, 'e-10', event]] })
  await settled()
  expect(heard).toEqual([
    ['two', 'e-8'],
    ['one', event],
  ])
  expect(far.frames[1]).toEqual({ unlisten: [1] })
})

test('one that the server ends is told why, and nothing more', async () => {
  const { connection, far } = open()
  const ends: unknown[] = []
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: (...why) => ends.push(why) })
  await settled()
  const refusal = { status: 'refused', code: 'forbidden', message: 'not you' } as const
  far.say({ ended: [[1, refusal as never]] })
  far.say({ ended: [[1, refusal as never]] })
  expect(ends).toEqual([['not you', refusal]])
})

test('at its end calls are rejected and those who listen are told, each once', async () => {
  const { connection, far } = open()
  const ends: string[] = []
  const call = outcomeOf(connection.call(renewal, 500))
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: (why) => ends.push(why) })
  const error = new UnavailableError('gone')
  connection.end(error)
  connection.end(new UnavailableError('again'))
  expect(await call).toBe(error)
  expect(ends).toEqual(['gone'])
  expect(far.isClosed).toBe(true)
  await settled()
  expect(far.frames).toEqual([])
})

test('where Baton itself has said no, that is the answer to every call', async () => {
  const { connection } = open()
  const refusal = { status: 'refused', code: 'unauthorised', message: 'who are you' } as never
  const call = connection.call(renewal, 500)
  connection.end(new UnavailableError('it answered 401'), refusal)
  expect(await call).toBe(refusal)
})

test.each(['', 'hello', 'null', '3', '{"replies"'])('%j is no frame, and ends the connection', async (text) => {
  const { connection, far, useless } = open()
  const call = outcomeOf(connection.call(renewal, 500))
  far.greet()
  far.sayText(text)
  expect(useless).toMatchObject([{ isForbidden: false }])
  expect(await call).toBeInstanceOf(UnavailableError)
})

test('somebody whose first words are no greeting is not Baton', () => {
  const { far, useless } = open()
  far.sayText('<html>')
  expect(useless).toMatchObject([{ isForbidden: true }])
})
