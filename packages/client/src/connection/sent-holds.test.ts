import { errorBody } from '@baton-lock/protocol'
import { expect, test } from 'vitest'
import { SentHolds } from './sent-holds.ts'

const at = { operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold: 'h' } as const
const ask = { type: 'acquire', ...at } as const
const release = { type: 'release', ...at, fence: 1, outcome: 'success' } as const
const granted = { status: 'granted', fence: 1, attempt: 1 } as never
const queued = { status: 'queued', position: 1 } as never

test('an ask and its release on one connection, however often', () => {
  const sent = new SentHolds()
  for (let tries = 0; tries < 3; tries++) expect(sent.isOnOneConnection(ask, 1)).toBe(true)
  sent.answered(ask, queued)
  sent.answered(ask, granted)
  expect(sent.isOnOneConnection(release, 1)).toBe(true)
  expect(sent.isOnOneConnection(release, 1)).toBe(true)
})

test('an ask that was sent on two connections has copies, whichever it is released on', () => {
  for (const last of [1, 2]) {
    const sent = new SentHolds()
    sent.isOnOneConnection(ask, 1)
    sent.isOnOneConnection(ask, 2)
    expect(sent.isOnOneConnection(release, last)).toBe(false)
  }
})

test('going back to the first connection does not make it one', () => {
  const sent = new SentHolds()
  for (const connection of [1, 2, 1]) sent.isOnOneConnection(ask, connection)
  expect(sent.isOnOneConnection(release, 1)).toBe(false)
})

test('a release that goes on to another connection is not one of its own', () => {
  const sent = new SentHolds()
  sent.isOnOneConnection(ask, 1)
  expect(sent.isOnOneConnection(release, 1)).toBe(true)
  expect(sent.isOnOneConnection(release, 2)).toBe(false)
  expect(sent.isOnOneConnection(release, 2)).toBe(false)
})

test('a release of an ask that is not known here has copies for all that is known', () => {
  expect(new SentHolds().isOnOneConnection(release, 1)).toBe(false)
})

test('an answer that Baton could not give leaves the ask as it is: the same is asked again', () => {
  const sent = new SentHolds()
  sent.isOnOneConnection(ask, 1)
  sent.isOnOneConnection(ask, 2)
  sent.answered(ask, errorBody('store-unavailable'))
  sent.isOnOneConnection(ask, 2)
  expect(sent.isOnOneConnection(release, 2)).toBe(false)
})

test('after its end a hold id is not remembered', () => {
  const sent = new SentHolds()
  sent.isOnOneConnection(ask, 1)
  sent.isOnOneConnection(release, 1)
  sent.answered(release, { status: 'released', outcome: 'success', holdsLeft: 0 } as never)
  sent.isOnOneConnection(ask, 2)
  expect(sent.isOnOneConnection(release, 2)).toBe(true)
})
