import { expect, test } from 'vitest'
import { StoreUnavailable, UnknownOutcome } from '../stores/store.ts'
import { Presence } from './presence.ts'

test('it is said once that a store has gone and why, and once that it is back', async () => {
  const said: unknown[] = []
  const presence = new Presence((...notice) => said.push(notice))
  const fails = (error: Error) => expect(presence.of(Promise.reject(error))).rejects.toBe(error)
  expect(await presence.of(Promise.resolve(1))).toBe(1)
  await fails(new UnknownOutcome('who knows'))
  expect(said).toEqual([])
  for (const reason of ['the disk is full', 'the disk is full still']) await fails(new StoreUnavailable(reason))
  expect(said).toEqual([['the store does not answer', { reason: 'the disk is full' }]])
  for (const result of [2, 3]) expect(await presence.of(Promise.resolve(result))).toBe(result)
  expect(said.slice(1)).toEqual([['the store answers again']])
  presence.end()
  await fails(new StoreUnavailable('closed'))
  expect(said.length).toBe(2)
})
