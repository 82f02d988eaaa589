import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deadlines } from './deadlines.ts'

test('items come out in the order of their deadlines, however these were set, moved and removed', () => {
  const change = fc.record({ item: fc.nat(20), atMs: fc.option(fc.nat(100), { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const deadlines = new Deadlines<number>()
      const expected = new Map<number, number>()
      for (const { item, atMs } of changes) {
        deadlines.set(item, atMs)
        if (atMs === undefined) expected.delete(item)
        else expected.set(item, atMs)
        expect(deadlines.nextMs()).toBe(expected.size === 0 ? undefined : Math.min(...expected.values()))
      }
      const taken: number[] = []
      for (let item = deadlines.takeDue(50); item !== undefined; item = deadlines.takeDue(50))
        taken.push(expected.get(item)!)
      expect(taken).toEqual([...expected.values()].filter((atMs) => atMs <= 50).sort((a, b) => a - b))
      expect(deadlines.size).toBe([...expected.values()].filter((atMs) => atMs > 50).length)
    }),
  )
})
