import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import {
  alive,
  ask,
  callOn,
  granted,
  open,
  release,
  released,
  renewal,
} from '@baton-lock/test-support/stream-connection'
import { expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'

test('a call that is not answered in time is rejected alone, where something else has come meanwhile', async () => {
  const { connection, far, clock, ended } = open()
  const slow = outcomeOf(callOn(connection, renewal, 500))
  await settled()
  await clock.advance(400)
  far.greet()
  await clock.advance(99)
  const other = callOn(connection, renewal, 500)
  await clock.advance(1)
  expect(await slow).toBeInstanceOf(UnavailableError)
  expect(ended).toEqual([])
  far.reply(2, alive)
  expect(await other).toMatchObject({ status: 'alive' })
})

test('a connection on which nothing came since a call was made is of no use when its time is over', async () => {
  const { connection, clock, far, ended } = open()
  far.greet()
  await clock.advance(1)
  const calls = [outcomeOf(callOn(connection, renewal, 500)), outcomeOf(callOn(connection, renewal, 9_000))]
  await clock.advance(499)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toMatchObject([{ error: { code: 'unavailable' } }])
  for (const call of calls) expect(await call).toBeInstanceOf(UnavailableError)
})

test('the call whose time is over first decides when it is looked at, whichever was made first', async () => {
  const { connection, clock, far } = open()
  const long = outcomeOf(callOn(connection, renewal, 5_000))
  await clock.advance(100)
  const short = outcomeOf(callOn(connection, renewal, 200))
  await clock.advance(150)
  far.beat()
  await clock.advance(50)
  expect(await short).toBeInstanceOf(UnavailableError)
  far.reply(1, alive)
  expect(await long).toMatchObject({ status: 'alive' })
})

test('one that listens and hears nothing for 45 s, not even a beat, is of no use', async () => {
  const { connection, clock, far, ended } = open()
  far.greet()
  const ends: string[] = []
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: ({ reason }) => ends.push(reason) })
  await clock.advance(44_000)
  far.beat()
  await clock.advance(44_999)
  expect([ended.length, ends.length]).toEqual([0, 0])
  await clock.advance(1)
  expect([ended.length, ends.length]).toEqual([1, 1])
})

test('a connection with nothing to wait for sets no timer', async () => {
  const { connection, clock, far, ended } = open()
  far.greet()
  const call = callOn(connection, renewal, 500)
  await settled()
  far.reply(1, alive)
  await call
  await clock.advance(200_000)
  expect(ended).toEqual([])
})

test('a release whose answer came after its asker had given it up is not acknowledged for a minute', async () => {
  const { connection, clock, far } = open()
  far.greet()
  const given = callOn(connection, ask('h'), 500)
  await settled()
  far.reply(1, granted)
  await given
  const first = outcomeOf(callOn(connection, release('h'), 500))
  await clock.advance(499)
  far.beat()
  await clock.advance(1)
  expect(await first).toBeInstanceOf(UnavailableError)
  // It is repeated, and the answer to the first comes before the connection breaks.
  void outcomeOf(callOn(connection, release('h'), 90_000))
  await settled()
  far.reply(2, released)
  void outcomeOf(callOn(connection, renewal, 90_000))
  await settled()
  expect(far.frames.at(-1)).not.toHaveProperty('acked', 2)
  for (let beats = 0; beats < 4; beats++) {
    await clock.advance(15_000)
    far.beat()
  }
  far.reply(3, released)
  void outcomeOf(callOn(connection, renewal, 90_000))
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
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: (end) => ends.push(end) })
  await settled()
  const refusal = { status: 'refused', code: 'forbidden', message: 'not you' } as const
  far.say({ ended: [[1, refusal as never]] })
  far.say({ ended: [[1, refusal as never]] })
  expect(ends).toEqual([{ reason: 'not you', refusal }])
})

test('at its end calls are rejected and those who listen are told, each once', async () => {
  const { connection, far } = open()
  const ends: string[] = []
  const call = outcomeOf(callOn(connection, renewal, 500))
  connection.listen({ scope: { of: 'all' } }, { onEvent: () => {}, onEnd: ({ reason }) => ends.push(reason) })
  const error = new UnavailableError('gone')
  connection.end(error)
  connection.end(new UnavailableError('again'))
  expect(await call).toBe(error)
  expect(ends).toEqual(['gone'])
  expect(far.isClosed).toBe(true)
  await settled()
  expect(far.frames).toEqual([])
})

test('a server that is about to stop is left when all that was asked of it is answered, and streams move', async () => {
  const { connection, far, clock, draining } = open()
  const told: unknown[] = []
  const call = outcomeOf(callOn(connection, renewal, 500))
  const late = outcomeOf(callOn(connection, renewal, 400))
  connection.listen(
    { scope: { of: 'all' } },
    { onEvent: ({ type }) => told.push(type), onEnd: (end) => told.push(end) },
  )
  await settled()
  await clock.advance(1)
  far.say({ draining: true })
  expect(draining()).toBe(1)
  connection.leave()
  far.say({ events: [[1, 'e-1', { type: 'reset' }]] })
  far.reply(1, alive)
  expect([await call, told, far.isClosed]).toEqual([alive, ['reset'], false])
  await clock.advance(399)
  expect((await late) as Error).toBeInstanceOf(UnavailableError)
  expect(told).toEqual(['reset', { reason: 'the server is about to stop', isMove: true }])
  expect(far.isClosed).toBe(true)
})

test('where Baton itself has said no, that is the answer to every call', async () => {
  const { connection } = open()
  const refusal = { status: 'refused', code: 'unauthorised', message: 'who are you' } as never
  const call = callOn(connection, renewal, 500)
  connection.end(new UnavailableError('it answered 401'), refusal)
  expect(await call).toBe(refusal)
})

test.each(['', 'hello', 'null', '3', '{"replies"'])('%j is no frame, and ends the connection', async (text) => {
  const { connection, far, ended } = open()
  const call = outcomeOf(callOn(connection, renewal, 500))
  far.greet()
  far.sayText(text)
  expect(ended).toMatchObject([{ error: { code: 'unavailable' } }])
  expect(await call).toBeInstanceOf(UnavailableError)
})

test('somebody whose first words are no greeting is not Baton', () => {
  const { far, ended } = open()
  far.sayText('<html>')
  expect(ended).toMatchObject([{ error: { message: expect.stringContaining('not a frame of Baton') } }])
})
