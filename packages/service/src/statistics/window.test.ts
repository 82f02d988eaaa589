import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WaitTimes, Window } from './window.ts'

const START_MS = 1_000_000

test('points are five seconds each, the last five minutes of them, and the last one goes on', () => {
  const window = new Window(START_MS)
  window.granted(START_MS)
  window.granted(START_MS + 4_999)
  window.granted(START_MS + 5_000)
  expect(window.points(START_MS + 12_000)).toMatchObject([
    { atMs: START_MS, grants: 2 },
    { atMs: START_MS + 5_000, grants: 1 },
    { atMs: START_MS + 10_000, grants: 0 },
  ])
  const later = window.points(START_MS + 300_000)
  expect(later).toHaveLength(60)
  expect(later[0]).toMatchObject({ atMs: START_MS + 5_000, grants: 1 })
  expect(window.points(START_MS + 3_600_000).every(({ grants }) => grants === 0)).toBe(true)
  window.granted(START_MS + 3_600_000)
  expect(window.totals.grants).toBe(4)
})

test('how many waited is known of every point, also of those in which nothing happened', () => {
  const window = new Window(START_MS, 3)
  window.lineChanged(START_MS + 11_000, 2)
  window.leftLine(START_MS + 26_000, 100)
  const points = window.points(START_MS + 31_000)
  expect(points.map(({ waiting }) => waiting)).toEqual([3, 3, 5, 5, 5, 4, 4])
  expect(points.map(({ waitedMs }) => waitedMs?.p50)).toEqual([...Array(5).fill(undefined), 101, undefined])
})

test('events that come late are counted in their point where it is still known, and in the totals', () => {
  const window = new Window(START_MS)
  window.granted(START_MS + 400_000)
  window.granted(START_MS + 395_000)
  window.granted(START_MS)
  window.skipped(START_MS + 400_001, 4)
  const points = window.points(START_MS + 399_000)
  expect(points.at(-1)).toMatchObject({ atMs: START_MS + 400_000, grants: 1, skips: 4 })
  expect(points.reduce((sum, { grants }) => sum + grants, 0)).toBe(1)
  expect(window.totals.grants).toBe(3)
})

test('a point that is used again begins with nothing', () => {
  const window = new Window(START_MS)
  window.handedOver(START_MS, 50)
  window.ended(START_MS, 'failure')
  window.granted(START_MS + 300_000)
  expect(window.points(START_MS + 300_000).at(-1)).toEqual({
    atMs: START_MS + 300_000,
    grants: 1,
    handOvers: 0,
    skips: 0,
    successes: 0,
    failures: 0,
    expired: 0,
    waiting: 0,
  })
})

const timesOf = (all: readonly number[]) => {
  const times = new WaitTimes()
  for (const each of all) times.add(each)
  return times
}

test('a percentile is wrong by a 32nd at most, whatever the times are', () => {
  const shares = [0.5, 0.95, 0.99] as const
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2 ** 31 - 1 }), { minLength: 1, maxLength: 200 }), (all) => {
      const sorted = all.toSorted((a, b) => a - b)
      const told = timesOf(all).percentiles(shares)
      for (const [index, share] of shares.entries()) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1]!
        expect(Math.abs(told[index]! - exact)).toBeLessThanOrEqual(exact / 32)
      }
    }),
  )
})

test('short times are exact, and what is beyond all bounds is counted all the same', () => {
  expect(timesOf([0, 7, 31]).percentiles([0.3, 0.6, 1])).toEqual([0, 7, 31])
  expect(timesOf([1e15]).percentiles([0.5])[0]).toBeGreaterThan(2_000_000_000)
  expect(timesOf([-5]).percentiles([0.5])).toEqual([0])
})

test('what was cleared is not counted', () => {
  const times = timesOf([100, 200])
  times.clear()
  expect(times.count).toBe(0)
  times.add(3)
  expect(times.percentiles([0.99])).toEqual([3])
})
