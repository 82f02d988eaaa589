import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SmallMap } from './small-map.ts'

const act = fc.record({
  type: fc.constantFrom('set', 'set', 'delete', 'walk'),
  key: fc.constantFrom('a', 'b', 'c', ''),
  value: fc.option(fc.nat(3), { nil: undefined }),
})

test('it is as a map is, whatever is done to it', () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
      const small = new SmallMap<number | undefined>()
      const map = new Map<string, number | undefined>()
      for (const { type, key, value } of acts) {
        if (type === 'set') {
          small.set(key, value)
          map.set(key, value)
        } else if (type === 'delete') expect(small.delete(key)).toBe(map.delete(key))
        else {
          // Set again or deleted on the way.
          const walked = [small, map].map((each) => {
            const met: unknown[] = []
            for (const [name, was] of each) {
              met.push([name, was])
              if (name === key) each.delete(name)
              else each.set(name, value)
            }
            return met
          })
          expect(walked[0]).toEqual(walked[1])
        }
        expect(small.size).toBe(map.size)
        expect([...small]).toEqual([...map])
        expect([...small.keys()]).toEqual([...map.keys()])
        expect([...small.values()]).toEqual([...map.values()])
        expect([small.has(key), small.get(key)]).toEqual([map.has(key), map.get(key)])
      }
      expect([...new SmallMap(map)]).toEqual([...map])
    }),
  )
})
