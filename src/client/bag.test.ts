import { expect, test } from 'vitest'
import { Bag } from './bag.ts'

test('what was put in is there until it is taken out, and its number is used again', () => {
  const bag = new Bag<{ name: string }>()
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  const atA = bag.add(a)
  const atB = bag.add(b)
  expect([...bag]).toEqual([a, b])
  bag.remove(a, atA)
  expect([...bag]).toEqual([b])
  expect(bag.add(c)).toBe(atA)
  expect(bag.at(atA)).toBe(c)
  expect(bag.at(atB)).toBe(b)
  expect(bag.size).toBe(2)
})

test('one that is out already takes nobody with it whose number was its own', () => {
  const bag = new Bag<{ name: string }>()
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  const at = bag.add(a)
  bag.remove(a, at)
  bag.add(b)
  bag.remove(a, at)
  expect([...bag]).toEqual([b])
})
