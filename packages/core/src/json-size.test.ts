import { expect, test } from 'vitest'
import { jsonSize } from './json-size.ts'

test('a size is about that of the JSON', () => {
  const waiter = { operation: 'pull', node: 'node-a', owner: 'a'.repeat(100), sinceMs: 1_700_000_000_000 }
  const values = [
    { waiters: Array.from({ length: 50 }, () => waiter), waiting: 50, references: ['a', 'b'], kept: [] },
    { progress: { percent: 40, isLate: false, before: null, note: 'x'.repeat(1_000) } },
    [],
  ]
  for (const value of values) {
    const { length } = JSON.stringify(value)
    expect(jsonSize(value)).toBeGreaterThanOrEqual(length * 0.9)
    expect(jsonSize(value)).toBeLessThanOrEqual(length * 1.3)
  }
})

test('what is not written counts little', () => {
  expect(jsonSize({ a: undefined })).toBeLessThan(10)
})
