import { expect, test } from 'vitest'
import { SteadyClock } from './clock.ts'

function clockAt(startMs: number) {
  let rawMs = startMs
  let cpuMs = 5_000
  const clock = new SteadyClock({ rawMs: () => rawMs, cpuMs: () => cpuMs })
  /** Time in which the process does nothing, or is stopped. */
  const pass = (byMs: number) => (rawMs += byMs)
  /** Time that the process needs. */
  const work = (byMs: number) => {
    rawMs += byMs
    cpuMs += byMs
  }
  return { clock, pass, work }
}

test('time passes as long as the process beats', () => {
  const { clock, pass } = clockAt(1_000)
  for (let beats = 0; beats < 50; beats++) {
    pass(200)
    clock.beat()
  }
  expect(clock.nowMs()).toBe(11_000)
})

test('a stall of the process is no time at all, whoever asks first after it', () => {
  const { clock, pass } = clockAt(1_000)
  pass(200)
  clock.beat()
  pass(60_000)
  expect(clock.nowMs()).toBe(1_200)
  pass(200)
  clock.beat()
  expect(clock.nowMs()).toBe(1_400)
})

test('a stall does not take back what was told since the last beat', () => {
  const { clock, pass } = clockAt(1_000)
  pass(150)
  expect(clock.nowMs()).toBe(1_150)
  pass(60_000)
  expect(clock.nowMs()).toBe(1_150)
  pass(200)
  clock.beat()
  expect(clock.nowMs()).toBe(1_200)
})

test('it never runs backwards', () => {
  const { clock, pass } = clockAt(0)
  let last = clock.nowMs()
  for (const byMs of [100, 900, 1_100, 5, 100_000, 0, 300, 999, 1_001]) {
    pass(byMs)
    const nowMs = clock.nowMs()
    expect(nowMs).toBeGreaterThanOrEqual(last)
    last = nowMs
    clock.beat()
  }
})

test('a stall that its own work has caused is a second of no time at most', () => {
  const { clock, pass, work } = clockAt(1_000)
  pass(200)
  clock.beat()
  work(60_000)
  expect(clock.nowMs()).toBe(60_200)
  pass(200)
  clock.beat()
  expect(clock.nowMs()).toBe(60_400)
})

test('however often it is asked while it works, it is a second in all until the next beat', () => {
  const { clock, pass, work } = clockAt(1_000)
  let last = clock.nowMs()
  for (let ms = 0; ms < 30_000; ms += 10) {
    work(10)
    const nowMs = clock.nowMs()
    expect(nowMs).toBeGreaterThanOrEqual(last)
    last = nowMs
  }
  expect(last).toBe(30_000)
  clock.beat()
  pass(200)
  clock.beat()
  expect(clock.nowMs()).toBe(30_200)
})

test('of a stall in which it was stopped and worked, what it was stopped for is no time', () => {
  const { clock, pass, work } = clockAt(1_000)
  work(5_000)
  pass(60_000)
  expect(clock.nowMs()).toBe(5_000)
})

test('what other threads have used makes no more of a stall than it was', () => {
  const { clock, pass, work } = clockAt(1_000)
  work(10_000)
  pass(-5_000)
  expect(clock.nowMs()).toBe(5_000)
})

test('after a jump it catches up until it is told that it has; after a stop there is nothing to catch up with', () => {
  const { clock, pass, work } = clockAt(1_000)
  const heard: boolean[] = []
  clock.onCatchUp((isCatchingUp) => heard.push(isCatchingUp))
  pass(60_000)
  clock.nowMs()
  expect(clock.isCatchingUp).toBe(false)
  clock.beat()
  work(500)
  clock.beat()
  expect(clock.isCatchingUp).toBe(false)
  work(3_000)
  clock.nowMs()
  const { jumps } = clock
  expect(clock.isCatchingUp).toBe(true)
  clock.beat()
  work(3_000)
  clock.beat()
  clock.caughtUp(jumps)
  expect(clock.isCatchingUp).toBe(true)
  clock.caughtUp(clock.jumps)
  expect(clock.isCatchingUp).toBe(false)
  expect(heard).toEqual([true, true, false])
})
