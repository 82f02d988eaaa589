import { expect, test } from 'vitest'
import { RememberedInMemory } from './in-memory.ts'
import { askName } from './state.ts'

const ask = (owner: string) => ({ operation: 'pull', owner, hold: '1' })

test('what is remembered is forgotten in its time, and what is set again is as young as its last setting', () => {
  const remembered = new RememberedInMemory<{ untilMs: number }>()
  expect(remembered.nextDeadlineMs()).toBeUndefined()
  remembered.set(ask('a'), { untilMs: 10 })
  remembered.set(ask('b'), { untilMs: 20 })
  remembered.set(ask('a'), { untilMs: 30 })
  expect([...remembered.entries()]).toEqual([
    [askName(ask('b')), { untilMs: 20 }],
    [askName(ask('a')), { untilMs: 30 }],
  ])
  remembered.forget(19)
  expect(remembered.size).toBe(2)
  expect(remembered.nextDeadlineMs()).toBe(20)
  remembered.forget(20)
  expect(remembered.of(ask('b'))).toEqual([])
  expect(remembered.of(ask('a'))).toEqual([{ untilMs: 30 }])
  remembered.delete(ask('a'), { untilMs: 30 })
  expect(remembered.size).toBe(0)
})

test('each node has its own under a name, the oldest first', () => {
  const remembered = new RememberedInMemory<{ node?: string; untilMs: number }>()
  const [a, b, anybody] = [{ node: 'a', untilMs: 10 }, { node: 'b', untilMs: 20 }, { untilMs: 20 }]
  for (const each of [a, b, anybody]) remembered.set(ask('x'), each)
  remembered.set(ask('y'), { node: 'a', untilMs: 20 })
  expect(remembered.of(ask('x'))).toEqual([a, b, anybody])
  expect(remembered.size).toBe(4)
  const later = { node: 'a', untilMs: 30 }
  remembered.set(ask('x'), later)
  expect(remembered.of(ask('x'))).toEqual([b, anybody, later])
  expect(remembered.nextDeadlineMs()).toBe(20)
  remembered.delete(ask('x'), anybody)
  expect(remembered.of(ask('x'))).toEqual([b, later])
  remembered.forget(20)
  expect(remembered.entries()).toEqual([[askName(ask('x')), later]])
  expect(remembered.of(ask('y'))).toEqual([])
})

test('what was given out is taken in again as it was', () => {
  const remembered = new RememberedInMemory<{ node?: string; untilMs: number }>()
  for (const node of ['b', 'a']) remembered.set(ask('x'), { node, untilMs: 10 })
  remembered.set(ask('y'), { untilMs: 20 })
  const filled = new RememberedInMemory<{ node?: string; untilMs: number }>()
  filled.fill(remembered.entries())
  expect(filled.entries()).toEqual(remembered.entries())
  expect(filled.of(ask('x')).map(({ node }) => node)).toEqual(['b', 'a'])
})
