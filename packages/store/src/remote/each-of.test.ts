import { expect, test } from 'vitest'
import { StoreUnreachable } from '../store.ts'
import { eachOf } from './each-of.ts'

test('so many at once, and one that fails keeps nobody', async () => {
  let now = 0
  let most = 0
  const done: number[] = []
  const all = eachOf([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++now)
    await new Promise((resolve) => setImmediate(resolve))
    now--
    if (item === 2) throw new Error('two')
    done.push(item)
  })
  await expect(all).rejects.toThrow('two')
  expect(done).toEqual([1, 3, 4, 5])
  expect(most).toBe(2)
})

test('where nobody answers, the rest is left alone', async () => {
  const tried: number[] = []
  const all = eachOf([1, 2, 3, 4, 5, 6], 2, async (item) => {
    tried.push(item)
    await new Promise((resolve) => setImmediate(resolve))
    if (item > 2) throw new StoreUnreachable('nobody is there')
  })
  await expect(all).rejects.toThrow(StoreUnreachable)
  expect(tried).toEqual([1, 2, 3, 4])
})

test('of none, nothing', async () => {
  await eachOf([], 2, () => Promise.reject(new Error('never')))
})
