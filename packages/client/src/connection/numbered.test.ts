import { expect, test } from 'vitest'
import { Numbered } from './numbered.ts'

test('numbers follow one another from 1, also after all of it was cleared', () => {
  const calls = new Numbered<{ name: string }>()
  expect([calls.add({ name: 'a' }), calls.add({ name: 'b' })]).toEqual([1, 2])
  calls.clear()
  expect(calls.isEmpty).toBe(true)
  expect(calls.add({ name: 'c' })).toBe(3)
  expect([calls.get(1), calls.get(3)]).toEqual([undefined, { name: 'c' }])
})

test('the oldest is the first that is left', () => {
  const calls = new Numbered<{ name: string }>()
  expect(calls.oldest).toBeUndefined()
  for (const name of ['a', 'b', 'c']) calls.add({ name })
  calls.delete(2)
  expect(calls.oldest).toBe(1)
  calls.delete(1)
  expect(calls.oldest).toBe(3)
  calls.replace(3, { name: 'd' })
  expect([...calls.entries()]).toEqual([[3, { name: 'd' }]])
  calls.delete(3)
  expect(calls.oldest).toBeUndefined()
})

test('of ten thousand that come and go one that stays is found', () => {
  const calls = new Numbered<{ count: number }>()
  calls.add({ count: 1 })
  for (let count = 2; count <= 10_000; count++) {
    const number = calls.add({ count })
    if (count === 5_000) calls.delete(1)
    if (count !== 6_000) calls.delete(number)
  }
  expect(calls.oldest).toBe(6_000)
  expect(calls.get(6_000)).toEqual({ count: 6_000 })
  expect(calls.get(5_999)).toBeUndefined()
})
