import { SimulatedClock } from '@baton-lock/store/conformance'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { expect, test } from 'vitest'
import { Storage } from './storage.ts'

test('a call that hangs is given up, others are not begun while two of them hang, and what can wait is done when they end', async () => {
  const time = new SimulatedClock()
  const clock = clientClockOf(time)
  const storage = new Storage(clock, '/data/merged')
  expect(await storage.call(async () => 7)).toBe(7)
  await expect(storage.call(() => Promise.reject(new Error('ENOENT')))).rejects.toThrow('ENOENT')

  const ends: (() => void)[] = []
  const hanging = () => storage.call(() => new Promise<void>((resolve) => ends.push(resolve)))
  const calls = [hanging(), hanging()].map((call) => call.catch((error) => error.code))
  let isBegun = false
  const begin = async () => {
    isBegun = true
  }
  const third = storage.call(begin).catch((error) => error.message)
  let isClosed = false
  storage.later(async () => {
    isClosed = true
  })
  await time.advance(700)
  expect(await Promise.all(calls)).toEqual(['storage-stalled', 'storage-stalled'])
  expect(await third).toContain('/data/merged does not answer')
  expect(ends).toHaveLength(2)
  for (const end of ends) end()
  await time.advance(1)
  expect([isBegun, isClosed]).toEqual([false, true])
  await storage.call(begin)
  expect(isBegun).toBe(true)
})
