import fc from 'fast-check'
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

test('however many there are, what was set last is there until it is deleted or due', () => {
  const act = fc.record({
    type: fc.constantFrom('set', 'set', 'set', 'delete', 'forget'),
    // Names of which some differ in one part only, and some only in where one part ends and the next begins.
    operation: fc.constantFrom('pull', 'lock'),
    owner: fc.constantFrom('a', 'a b', 'c', 'd', 'e', 'f'),
    hold: fc.constantFrom('1', 'b 1', '2'),
    node: fc.constantFrom('n', 'm', undefined),
  })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120, size: 'max' }), (acts) => {
      const remembered = new RememberedInMemory<{ node: string | undefined; untilMs: number }>()
      let expected: { name: string; value: { node: string | undefined; untilMs: number } }[] = []
      for (const [index, { type, node, ...name }] of acts.entries()) {
        const text = askName(name)
        const value = { node, untilMs: index }
        const isMeant = (each: (typeof expected)[number]) => each.name === text && each.value.node === node
        if (type === 'forget') {
          remembered.forget(index / 2)
          expected = expected.filter((each) => each.value.untilMs > index / 2)
        } else {
          expected = expected.filter((each) => !isMeant(each))
          if (type === 'delete') remembered.delete(name, value)
          else {
            remembered.set(name, value)
            expected.push({ name: text, value })
          }
        }
        expect(remembered.size).toBe(expected.length)
        expect(remembered.of(name)).toEqual(expected.filter((each) => each.name === text).map((each) => each.value))
        expect(remembered.nextDeadlineMs()).toBe(expected[0]?.value.untilMs)
      }
      expect(remembered.entries()).toEqual(expected.map((each) => [each.name, each.value]))
    }),
  )
})
