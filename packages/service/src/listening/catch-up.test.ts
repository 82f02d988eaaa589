import type { StatePart, StreamedEvent } from '@baton-lock/protocol'
import { SimulatedClock, settled } from '@baton-lock/store/conformance'
import { expect, test } from 'vitest'
import { CatchUp } from './catch-up.ts'

/** One that is told a state of three parts, and takes each when it is let. */
function slowReader({ isBack = false } = {}) {
  const told: string[] = []
  const clock = new SimulatedClock()
  const takes: ((isThere: boolean) => void)[] = []
  let reads = 0
  async function* readState(): AsyncGenerator<StreamedEvent> {
    for (const more of [true, true, false]) {
      reads++
      yield { type: 'state-part', of: 'session', places: [], more }
    }
  }
  const catchUp = new CatchUp({
    sink: ({ type }) => told.push(type),
    readState,
    piecewise: {
      bytes: 1,
      tell: ({ type, more }: StatePart) => told.push(more ? type : `last ${type}`),
      taken: () => new Promise((resolve) => takes.push(resolve)),
    },
    lastId: () => 'e-1',
    isBack,
    timers: clock,
  })
  const take = async (isThere = true) => {
    takes.shift()!(isThere)
    await settled()
  }
  return { catchUp, told, take, clock, reads: () => reads }
}

const news: StreamedEvent = { type: 'state', of: 'all' }

test('a part is told when the one before it was taken, and what happens meanwhile comes after the last', async () => {
  const { catchUp, told, take, reads } = slowReader()
  void catchUp.tellState()
  await settled()
  expect([told, reads()]).toEqual([['state-part'], 2])
  catchUp.hear(news, 'e-2')
  await take()
  expect(told).toEqual(['state-part', 'state-part'])
  await take()
  expect(told).toEqual(['state-part', 'state-part', 'last state-part', 'state'])
})

test('who has gone after a part is told no more, and nothing more is read for it', async () => {
  const { catchUp, told, take, reads } = slowReader()
  void catchUp.tellState()
  await settled()
  await take(false)
  expect([told, reads()]).toEqual([['state-part'], 2])
})

test('one that takes its parts so slowly that too much happens meanwhile is told the state once more', async () => {
  const { catchUp, told, take, clock } = slowReader()
  void catchUp.tellState()
  await settled()
  for (let index = 0; index < 10_000; index++) catchUp.hear(news, 'e-2')
  for (let parts = 0; parts < 2; parts++) await take()
  expect(told).toEqual(['state-part', 'state-part', 'last state-part'])
  await clock.advance(1_000)
  for (let parts = 0; parts < 2; parts++) await take()
  expect(told.slice(3)).toEqual(['reset', 'state-part', 'state-part', 'last state-part'])
})

test('after a gap nobody waits for one that does not take its parts', async () => {
  const { catchUp, told } = slowReader()
  await catchUp.tellAnew()
  expect(told).toEqual(['state-part'])
})

test('one that comes back is told first that what it knew is not all', async () => {
  const { catchUp, told } = slowReader({ isBack: true })
  void catchUp.tellState()
  await settled()
  expect(told).toEqual(['reset', 'state-part'])
})
