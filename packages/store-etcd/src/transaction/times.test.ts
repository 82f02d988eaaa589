import { expect, test } from 'vitest'
import { Times } from './times.ts'

test('time goes on from when a commit was seen, by the clock of whoever sees it', () => {
  const times = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: undefined }, 50)
  expect(times.nowMs(50)).toBe(1_000)
  expect(times.nowMs(80)).toBe(1_030)
})

test('a deadline comes after its whole duration, counted from the first sight of it, and never before', () => {
  const times = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  expect(times.dueMs()).toBe(600)
  expect(times.nowMs(599)).toBeLessThan(1_100)
  expect(times.nowMs(600)).toBe(1_100)
})

test('commits of others that leave the deadline alone do not put it off, however far behind they are', () => {
  const times = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  // Each is decided by a process that has seen the one before only then: for it hardly any time has passed.
  for (let round = 1; round <= 9; round++)
    times.see(1 + round, { atMs: 1_000 + round, aheadMs: 1, dueAtMs: 1_100 }, 500 + 10 * round)
  expect(times.nowMs(599)).toBeLessThan(1_100)
  expect(times.nowMs(600)).toBe(1_100)
  // What they may have set themselves lies after it, and is counted from their own commit.
  expect(times.nowMs(700)).toBe(1_118)
})

test('a deadline that was set on an axis that had lost time comes no nearer when the axis catches up', () => {
  const seen = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  // Another process has seen nothing of it before: for it, it is 1,001 at 590. It sets a deadline of 200, until 790 at least.
  const late = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 590)
  const set = { ...late.stamp(590), dueAtMs: 1_100 }
  expect(set.atMs).toBe(1_001)
  const deadlineMs = set.atMs + 200
  late.see(2, set, 590, true)
  seen.see(2, set, 590)
  // The first deadline comes, and whoever counts it says so.
  const passed = { ...seen.stamp(600), dueAtMs: deadlineMs }
  expect(passed.atMs).toBe(1_100)
  for (const times of [seen, late]) {
    times.see(3, passed, 600, times === seen)
    expect(times.nowMs(789)).toBeLessThan(deadlineMs)
    expect(times.dueMs()).toBeGreaterThanOrEqual(790)
    expect(times.dueMs()).toBeLessThan(800)
  }
})

test('a deadline that another process has set is not taken for an earlier one', () => {
  const times = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  const behind = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 7_000)
  const stamp = behind.stamp(7_000)
  expect(stamp).toEqual({ atMs: 1_001, aheadMs: 1 })
  times.see(2, { ...stamp, dueAtMs: stamp.atMs + 100 }, 590)
  expect(times.dueMs()).toBe(691)
  expect(times.nowMs(690)).toBeLessThan(1_101)
})

test('a commit that is known already, or an older one, changes nothing', () => {
  const times = new Times(5, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  times.see(5, { atMs: 1, aheadMs: 0, dueAtMs: 2 }, 900)
  times.see(4, { atMs: 1, aheadMs: 0, dueAtMs: 2 }, 900)
  expect(times.nowMs(510)).toBe(1_010)
  expect(times.dueMs()).toBe(600)
})

test('one of its own counts from when it was decided, also where the watch has told of it first', () => {
  const times = new Times(5, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 540)
  expect(times.isOwn).toBe(false)
  times.see(5, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500, true)
  expect(times.isOwn).toBe(true)
  expect(times.dueMs()).toBe(600)
  expect(times.stamp(500)).toEqual({ atMs: 1_000, aheadMs: 0 })
})

test('what is committed while it stands still does not end that', () => {
  const seen = new Times(1, { atMs: 1_000, aheadMs: 0, dueAtMs: 1_100 }, 500)
  seen.see(2, { atMs: 1_001, aheadMs: 1, dueAtMs: 1_100 }, 590)
  const deadlineMs = 1_001 + 200
  seen.see(3, { ...seen.stamp(600), dueAtMs: deadlineMs }, 600, true)
  const again = seen.stamp(630)
  expect(again.atMs).toBe(1_100)
  seen.see(4, { ...again, dueAtMs: deadlineMs }, 630, true)
  const other = new Times(4, { ...again, dueAtMs: deadlineMs }, 630)
  for (const times of [seen, other]) expect(times.dueMs()).toBeGreaterThanOrEqual(790)
})

test('a process that comes very late puts the deadline off rather than all that is set after it', () => {
  const HOUR = 3_600_000
  const seen = new Times(1, { atMs: 0, aheadMs: 0, dueAtMs: HOUR }, 0)
  const late = new Times(1, { atMs: 0, aheadMs: 0, dueAtMs: HOUR }, HOUR - 60_000)
  const joined = { ...late.stamp(HOUR - 60_000), dueAtMs: HOUR }
  late.see(2, joined, HOUR - 60_000, true)
  seen.see(2, joined, HOUR - 60_000)
  expect(seen.dueMs()).toBeGreaterThan(HOUR)
  expect(seen.dueMs()).toBeLessThanOrEqual(2 * HOUR)
  const { aheadMs } = seen.stamp(seen.dueMs()!)
  expect(aheadMs).toBeLessThanOrEqual(5_000)
})
