import { expect, test } from 'vitest'
import type { Timing } from '../timing.ts'
import { Attempts, DEADLINE_MS } from './attempts.ts'

const AGAIN = new Error('gave way')
const LOST = new Error('nobody there')
const FINAL = new Error('wrong')

function newWorld() {
  let nowMs = 0
  const pauses: number[] = []
  const timing: Timing = {
    monoMs: () => nowMs,
    wallMs: () => nowMs,
    pause: async (ms) => {
      pauses.push(ms)
      nowMs += ms
    },
    after: () => () => {},
    holdProcess: () => () => {},
    within: (_, promise) => promise,
    random: () => 1,
    uniqueName: () => 'p',
  }
  const judge = (error: unknown) => (error === AGAIN ? 'again' : error === LOST ? 'lost' : 'final')
  const attempts = new Attempts({ timing, judge })
  let tries = 0
  const failing = (error: Error, times = Infinity) =>
    attempts.run(async () => {
      if (++tries <= times) throw error
      return 'done'
    })
  return { attempts, failing, pauses, nowMs: () => nowMs, tries: () => tries }
}

test('what gave way or found nobody is tried again, with pauses that grow', async () => {
  for (const error of [AGAIN, LOST]) {
    const { failing, pauses, tries } = newWorld()
    expect(await failing(error, 3)).toBe('done')
    expect(tries()).toBe(4)
    expect(pauses).toEqual([10, 20, 40])
  }
})

test('what would fail again, or may have been done, is not tried again', async () => {
  const { failing, tries } = newWorld()
  await expect(failing(FINAL)).rejects.toBe(FINAL)
  expect(tries()).toBe(1)
})

test('everything is given up at the deadline, with the last error', async () => {
  const { failing, nowMs } = newWorld()
  await expect(failing(AGAIN)).rejects.toBe(AGAIN)
  expect(nowMs()).toBeLessThanOrEqual(DEADLINE_MS)
  expect(nowMs()).toBeGreaterThan(DEADLINE_MS - 1_000)
})

test('a database that has been away for long is not waited for, until it is back', async () => {
  const { failing, nowMs, tries } = newWorld()
  await expect(failing(LOST)).rejects.toBe(LOST)
  const awayAtMs = nowMs()
  await expect(failing(LOST)).rejects.toBe(LOST)
  expect(nowMs() - awayAtMs).toBeLessThanOrEqual(1_500)
  expect(await failing(LOST, tries() + 1)).toBe('done')
  const backAtMs = nowMs()
  await expect(failing(LOST)).rejects.toBe(LOST)
  expect(nowMs() - backAtMs).toBeGreaterThan(5_000)
})

test('nothing is tried again once it is closed', async () => {
  const { attempts, failing, tries } = newWorld()
  attempts.close()
  await expect(failing(LOST)).rejects.toBe(LOST)
  expect(tries()).toBe(1)
})
