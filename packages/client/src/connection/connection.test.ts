import { settled } from '@baton-lock/store/conformance/simulated-clock'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import {
  alive,
  ask,
  callOn,
  granted,
  HOLD_MS,
  open,
  release,
  renewal,
} from '@baton-lock/test-support/stream-connection'
import { expect, test } from 'vitest'
import { SentHolds } from './sent-holds.ts'

test('what is asked in one turn goes into one frame, numbered from one', async () => {
  const { connection, far } = open()
  const first = callOn(connection, ask('h1'), 1_000)
  // Somebody who was answered asks for the next thing in the same turn.
  const second = Promise.resolve().then(() => callOn(connection, ask('h2'), 1_000))
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

test('while eight frames are under way others gather for a moment, or until something comes', async () => {
  const { connection, far, clock } = open()
  const ask = async () => {
    void callOn(connection, renewal, 1_000)
    await settled()
  }
  for (let frame = 1; frame <= 8; frame++) await ask()
  expect(far.frames).toHaveLength(8)
  await ask()
  await ask()
  expect(far.frames).toHaveLength(8)
  far.reply(1, alive)
  await settled()
  expect(far.frames[8]).toMatchObject({ from: 9, requests: [renewal, renewal], acked: 1 })
  await ask()
  expect(far.frames).toHaveLength(9)
  await clock.advance(HOLD_MS)
  expect(far.frames[9]).toMatchObject({ from: 11, requests: [renewal] })
})

test('what every ask says is said once, and again for another session', async () => {
  const { connection, far, clock } = open()
  const place = { namespace: 'n', operation: 'lock', resource: 'r', node: 'a', owner: 'a' } as const
  void callOn(connection, { type: 'acquire', ...place, hold: 'h1', session: 's1' }, 1_000)
  void callOn(connection, { type: 'acquire', ...place, node: 'b', hold: 'h2', session: 's2' }, 1_000)
  void callOn(connection, { type: 'renew-session', session: 's1' }, 1_000)
  await clock.advance(HOLD_MS)
  void callOn(connection, { type: 'acquire', ...place, hold: 'h3', session: 's2' }, 1_000)
  await clock.advance(HOLD_MS)
  const said = { operation: 'lock', resource: 'r', owner: 'a' }
  expect(far.frames).toEqual([
    {
      defaults: { namespace: 'n', node: 'a', session: 's1' },
      from: 1,
      requests: [
        { type: 'acquire', ...said, hold: 'h1' },
        { type: 'acquire', ...said, node: 'b', hold: 'h2', session: 's2' },
        { type: 'renew-session', session: 's1' },
      ],
    },
    {
      defaults: { namespace: 'n', node: 'a', session: 's2' },
      from: 4,
      requests: [{ type: 'acquire', ...said, hold: 'h3' }],
    },
  ])
})

test('numbers go on over frames', async () => {
  const { connection, far, clock } = open()
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  void callOn(connection, renewal, 1_000)
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.map(({ from, requests }) => [from, requests?.length])).toEqual([
    [1, 1],
    [2, 2],
  ])
})

test('sixteen requests do not wait for the end of the turn', async () => {
  const { connection, far } = open()
  for (let count = 0; count < 15; count++) void callOn(connection, renewal, 1_000)
  expect(far.frames).toHaveLength(0)
  for (let count = 0; count < 2; count++) void callOn(connection, renewal, 1_000)
  expect(far.frames.map(({ from, requests }) => [from, requests?.length])).toEqual([[1, 16]])
  await settled()
  expect(far.frames.map(({ from, requests }) => [from, requests?.length])).toEqual([
    [1, 16],
    [17, 1],
  ])
})

test('more requests than a frame may carry go into the next one, in order', async () => {
  const { connection, far, clock } = open()
  const underWay = 8 * 16
  for (let count = 0; count < underWay + 1_001; count++) void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.slice(8).map(({ from, requests }) => [from, requests?.length])).toEqual([
    [underWay + 1, 1_000],
    [underWay + 1_001, 1],
  ])
})

test('large requests go into frames of their own', async () => {
  const { connection, far, clock } = open()
  const large = { ...release('h'), result: 'x'.repeat(300_000) }
  for (let count = 0; count < 3; count++) void callOn(connection, large, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames.map(({ requests }) => requests?.length)).toEqual([1, 1, 1])
})

test('while too much has not left, requests gather until something has', async () => {
  const { connection, far, clock } = open()
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  far.unsent = 2 * 1024 * 1024
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  void callOn(connection, renewal, 1_000)
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
  for (let count = 0; count < 3; count++) void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[0]).not.toHaveProperty('acked')
  far.reply(1, alive)
  far.reply(3, alive)
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[1]).toMatchObject({ from: 4, acked: 1 })
  far.reply(2, alive)
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[2]).toMatchObject({ from: 5, acked: 3 })
  void callOn(connection, renewal, 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[3]).not.toHaveProperty('acked')
})

test('a release on the connection of its ask need not be kept, one of another ask must', async () => {
  const sentHolds = new SentHolds()
  const before = open({ sentHolds })
  void outcomeOf(callOn(before.connection, ask('h1'), 1_000))
  await settled()
  const { connection, far, clock } = open({ sentHolds })
  void callOn(connection, release('h1'), 1_000)
  void callOn(connection, ask('h2'), 1_000)
  await settled()
  expect(far.frames[0]).toMatchObject({ from: 1, keep: [1] })
  void callOn(connection, release('h2'), 1_000)
  await clock.advance(HOLD_MS)
  expect(far.frames[1]).not.toHaveProperty('keep')
})
