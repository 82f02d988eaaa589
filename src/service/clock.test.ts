import { expect, test } from 'vitest'
import { SteadyClock } from './clock.ts'

function clockAt(startMs: number) {
  let rawMs = startMs
  const clock = new SteadyClock(() => rawMs)
  return { clock, pass: (byMs: number) => (rawMs += byMs) }
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
