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
  expect(remembered.of('b')).toEqual([])
  expect(remembered.of('a')).toEqual([{ untilMs: 30 }])
  remembered.delete('a', { untilMs: 30 })
  expect(remembered.size).toBe(0)
})

test('each node has its own under a name, the oldest first', () => {
  const remembered = new RememberedInMemory<{ node?: string; untilMs: number }>()
  const [a, b, anybody] = [{ node: 'a', untilMs: 10 }, { node: 'b', untilMs: 20 }, { untilMs: 20 }]
  for (const each of [a, b, anybody]) remembered.set('x', each)
  remembered.set('y', { node: 'a', untilMs: 20 })
  expect(remembered.of('x')).toEqual([a, b, anybody])
  expect(remembered.size).toBe(4)
  const later = { node: 'a', untilMs: 30 }
  remembered.set('x', later)
  expect(remembered.of('x')).toEqual([b, anybody, later])
  expect(remembered.nextDeadlineMs()).toBe(20)
  remembered.delete('x', anybody)
  expect(remembered.of('x')).toEqual([b, later])
  remembered.forget(20)
  expect(remembered.entries()).toEqual([['x', later]])
  expect(remembered.of('y')).toEqual([])
})
