import { StoreUnavailable, UnknownOutcome } from '@baton-lock/store/store'
import { recordedLog } from '@baton-lock/test-support/recorded-log'
import { expect, test } from 'vitest'
import { StoreAvailability } from './availability.ts'

test('it is logged once that a store does not answer and why, and once that it answers again', async () => {
  const { log, entries } = recordedLog()
  const availability = new StoreAvailability(log)
  const fails = (error: Error) => expect(availability.watch(Promise.reject(error))).rejects.toBe(error)
  expect(await availability.watch(Promise.resolve(1))).toBe(1)
  await fails(new UnknownOutcome('who knows'))
  expect(entries).toEqual([])
  for (const reason of ['the disk is full', 'the disk is full still']) await fails(new StoreUnavailable(reason))
  expect(entries).toEqual([['error', 'the store does not answer', { reason: 'the disk is full' }]])
  for (const result of [2, 3]) expect(await availability.watch(Promise.resolve(result))).toBe(result)
  expect(entries.slice(1)).toEqual([['info', 'the store answers again', {}]])
  availability.stop()
  await fails(new StoreUnavailable('closed'))
  expect(entries.length).toBe(2)
})
