import { expect, test } from 'vitest'
import { errorBody } from '../../protocol/index.ts'
import { Asks } from './asks.ts'

const at = { operation: 'lock', resource: 'r', node: 'a', owner: 'a', hold: 'h' } as const
const ask = { type: 'acquire', ...at } as const
const release = { type: 'release', ...at, fence: 1, outcome: 'success' } as const
const granted = { status: 'granted', fence: 1, attempt: 1 } as never
const queued = { status: 'queued', position: 1 } as never

test('an ask and its release on one connection, however often', () => {
  const asks = new Asks()
  for (let tries = 0; tries < 3; tries++) expect(asks.isOnOneConnection(ask, 1)).toBe(true)
  asks.answered(ask, queued)
  asks.answered(ask, granted)
  expect(asks.isOnOneConnection(release, 1)).toBe(true)
  expect(asks.isOnOneConnection(release, 1)).toBe(true)
})

test('an ask that was sent on two connections has copies, whichever it is released on', () => {
  for (const last of [1, 2]) {
    const asks = new Asks()
    asks.isOnOneConnection(ask, 1)
    asks.isOnOneConnection(ask, 2)
    expect(asks.isOnOneConnection(release, last)).toBe(false)
  }
})

test('going back to the first connection does not make it one', () => {
  const asks = new Asks()
  for (const connection of [1, 2, 1]) asks.isOnOneConnection(ask, connection)
  expect(asks.isOnOneConnection(release, 1)).toBe(false)
})

test('a release that goes on to another connection is not one of its own', () => {
  const asks = new Asks()
  asks.isOnOneConnection(ask, 1)
  expect(asks.isOnOneConnection(release, 1)).toBe(true)
  expect(asks.isOnOneConnection(release, 2)).toBe(false)
  expect(asks.isOnOneConnection(release, 2)).toBe(false)
})

test('a release of an ask that is not known here has copies for all that is known', () => {
  expect(new Asks().isOnOneConnection(release, 1)).toBe(false)
})

test('an ask that also went by another way has copies', () => {
  const asks = new Asks()
  asks.sentElsewhere(ask)
  asks.isOnOneConnection(ask, 1)
  expect(asks.isOnOneConnection(release, 1)).toBe(false)
})

test('an answer that Baton could not give leaves the ask as it is: the same is asked again', () => {
  const asks = new Asks()
  asks.isOnOneConnection(ask, 1)
  asks.isOnOneConnection(ask, 2)
  asks.answered(ask, errorBody('store-unavailable'))
  asks.isOnOneConnection(ask, 2)
  expect(asks.isOnOneConnection(release, 2)).toBe(false)
})

test('after its end a hold id is not remembered', () => {
  const asks = new Asks()
  asks.isOnOneConnection(ask, 1)
  asks.isOnOneConnection(release, 1)
  asks.answered(release, { status: 'released', outcome: 'success', holdsLeft: 0 } as never)
  asks.isOnOneConnection(ask, 2)
  expect(asks.isOnOneConnection(release, 2)).toBe(true)
})
