import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WaitTimes } from './wait-times.ts'

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
