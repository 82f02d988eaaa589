import { logTo } from '@baton-lock/service'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { expect, test } from 'vitest'
import { defaultLimits } from '../limits.ts'
import { Held, Unsent } from './unsent.ts'

function newUnsent(limits: { allStreamsBytes?: number; unreadMs?: number } = {}) {
  const timers = new SimulatedClock()
  const lines: [string, object | undefined][] = []
  const log = logTo((_, message, fields) => lines.push([message, fields]))
  const unsent = new Unsent({ limits: { ...defaultLimits, allStreamsBytes: 1_000, ...limits }, timers, log })
  const cut: string[] = []
  const reader = (name: string, write?: (held: Held) => void): Held => {
    const held: Held = new Held({ cut: () => void cut.push(name), write: () => write?.(held) })
    return held
  }
  return { unsent, timers, lines, cut, reader }
}

test('beyond the limit of all, those who hold most are cut until a twentieth of the room is free', () => {
  const { unsent, cut, reader } = newUnsent()
  const [small, large, middle] = [reader('small'), reader('large'), reader('middle')]
  unsent.report(small, 200)
  unsent.report(large, 400)
  unsent.report(middle, 390)
  expect([cut, unsent.bytes]).toEqual([[], 990])
  unsent.report(small, 220)
  expect([cut, unsent.bytes, unsent.cuts]).toEqual([['large'], 610, 1])
  unsent.report(large, 5_000)
  expect([unsent.bytes, cut]).toEqual([610, ['large']])
})

test('what is only gathered is written before anybody is cut', () => {
  const { unsent, cut, reader } = newUnsent()
  const fast = [1, 2, 3].map((name) => reader(`fast ${name}`, (held) => unsent.report(held, 0)))
  const slow = reader('slow')
  unsent.report(slow, 300)
  for (const held of fast) unsent.report(held, 350)
  expect([cut, unsent.bytes]).toEqual([[], 650])
  unsent.report(slow, 960)
  for (const held of fast) unsent.report(held, 20)
  expect([cut, unsent.bytes]).toEqual([['slow'], 60])
})

test('one that reads nothing for a while is cut, one that reads something is not', async () => {
  const { unsent, timers, cut, reader } = newUnsent({ unreadMs: 10_000 })
  const [deaf, slow] = [reader('deaf'), reader('slow')]
  unsent.report(deaf, 100)
  unsent.report(slow, 100)
  for (const left of [90, 80, 70]) {
    await timers.advance(10_000)
    unsent.report(slow, left)
    unsent.report(deaf, 200)
  }
  expect([cut, unsent.bytes]).toEqual([['deaf'], 70])
  unsent.report(slow, 0)
  await timers.advance(30_000)
  unsent.report(slow, 50)
  await timers.advance(10_000)
  expect(cut).toEqual(['deaf'])
})

test('a cut is logged, and many within a second by their number', async () => {
  const { unsent, timers, lines, reader } = newUnsent()
  for (const bytes of [1, 2, 3, 4]) {
    const held = reader('one')
    unsent.report(held, bytes)
    unsent.cut(held)
    unsent.cut(held)
  }
  expect(lines).toEqual([['slow reader cut', { unreadBytes: 1 }]])
  await timers.advance(1_000)
  expect(lines.slice(1)).toEqual([['slow readers cut', { count: 3 }]])
  await timers.advance(5_000)
  expect([lines.length, unsent.cuts]).toEqual([2, 4])
})
