import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Deadlines } from './deadline-heap.ts'

const changes = fc.array(fc.record({ item: fc.nat(20), atMs: fc.option(fc.nat(30), { nil: undefined }) }), {
  maxLength: 200,
  size: 'max',
})

test.each([
  ['without a rank', undefined],
  ['with one', (item: number) => (item * 8) % 21],
])('items come out in the order of their deadlines, however these were set, moved and removed, %s', (_, rank) => {
  fc.assert(
    fc.property(changes, (list) => {
      const deadlines = new Deadlines<number>({ rank })
      const expected = new Map<number, number>()
      for (const { item, atMs } of list) {
        deadlines.set(item, atMs)
        if (atMs === undefined) expected.delete(item)
        else expected.set(item, atMs)
        expect(deadlines.atMs(item)).toBe(atMs)
        expect(deadlines.nextMs()).toBe(expected.size === 0 ? undefined : Math.min(...expected.values()))
      }
      const taken: number[] = []
      for (let item = deadlines.due(15); item !== undefined; item = deadlines.due(15)) {
        taken.push(item)
        deadlines.set(item, undefined)
      }
      const due = [...expected].filter(([, atMs]) => atMs <= 15)
      due.sort(([a, aMs], [b, bMs]) => aMs - bMs || (rank ? rank(a) - rank(b) : taken.indexOf(a) - taken.indexOf(b)))
      expect(taken).toEqual(due.map(([item]) => item))
      expect(deadlines.size).toBe(expected.size - due.length)
    }),
  )
})
