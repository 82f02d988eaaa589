import { expect, test } from 'vitest'
import { List } from './list.ts'

test('an item is in the list until it is removed, and its number is used again', () => {
  const list = new List<{ name: string }>()
  const [a, b, c] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  const atA = list.add(a)
  const atB = list.add(b)
  expect([...list]).toEqual([a, b])
  list.remove(a, atA)
  expect([...list]).toEqual([b])
  expect(list.add(c)).toBe(atA)
  expect(list.at(atA)).toBe(c)
  expect(list.at(atB)).toBe(b)
  expect(list.size).toBe(2)
})

test('to remove an item twice does not remove the item that has its number now', () => {
  const list = new List<{ name: string }>()
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  const at = list.add(a)
  list.remove(a, at)
  list.add(b)
  list.remove(a, at)
  expect([...list]).toEqual([b])
})
