import {
  ArgumentError,
  FailedForGoodError,
  GrantLostError,
  HoldLimitError,
  RefusedError,
  UnavailableError,
} from '@baton-lock/client/errors'
import { expect, test } from 'vitest'
import { Exit, exitOf, UsageError } from './exit.ts'

test.each<[unknown, number]>([
  [new UsageError('x'), 64],
  [new ArgumentError('x'), 64],
  [new RefusedError('bad-request', 'x'), 64],
  [new RefusedError('unknown-operation', 'x'), 64],
  [new FailedForGoodError({ by: 'node-a', error: 'x', permanent: true }), 65],
  [new UnavailableError('x'), 69],
  [new RefusedError('store-unavailable', 'x'), 69],
  [new RefusedError('unknown-host', 'x'), 69],
  [new GrantLostError({ kind: 'session-ended' }), 70],
  [new HoldLimitError(1), 124],
  [new RefusedError('in-use', 'x'), 73],
  [new RefusedError('busy', 'x'), 75],
  [new RefusedError('wait-over', 'x'), 75],
  [new RefusedError('queue-full', 'x'), 75],
  [new RefusedError('unauthorised', 'x'), 77],
  [new RefusedError('forbidden', 'x'), 77],
  [new RefusedError('unknown-grant', 'x'), 1],
  [new Exit(42, 'x'), 42],
  [new TypeError('x'), 1],
])('%s exits with %d and its sentence', (error, code) => {
  const exit = exitOf(error)
  expect(exit.code).toBe(code)
  expect(exit.sentence).toContain((error as Error).message)
})
