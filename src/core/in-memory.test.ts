import { expect, test } from 'vitest'
import { RememberedInMemory } from './in-memory.ts'

test('what is remembered is forgotten in its time, and what is set again is as young as its last setting', () => {
  const remembered = new RememberedInMemory<{ untilMs: number }>()
  expect(remembered.nextDeadlineMs()).toBeUndefined()
  remembered.set('a', { untilMs: 10 })
  remembered.set('b', { untilMs: 20 })
  remembered.set('a', { untilMs: 30 })
  expect([...remembered.entries()]).toEqual([
    ['b', { untilMs: 20 }],
    ['a', { untilMs: 30 }],
  ])
  remembered.forget(19)
  expect(remembered.size).toBe(2)
  expect(remembered.nextDeadlineMs()).toBe(20)
  remembered.forget(20)
  expect(remembered.get('b')).toBeUndefined()
  expect(remembered.get('a')).toEqual({ untilMs: 30 })
  remembered.delete('a')
  expect(remembered.size).toBe(0)
})
