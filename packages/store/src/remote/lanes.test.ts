import { expect, test } from 'vitest'
import { Lanes } from './lanes.ts'

const address = { namespace: 'default', resource: 'r' }
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Lanes that do nothing but note what goes together; each transaction ends when `end` is called. */
function noted() {
  const batches: string[][] = []
  const ends: (() => void)[] = []
  const lanes = new Lanes<string, string>((_, jobs) => {
    batches.push([...jobs])
    return new Promise((resolve) => ends.push(() => resolve(jobs)))
  })
  return { batches, go: (job: string) => lanes.go(address, job, 0), end: () => ends.shift()!() }
}

test('what is asked at one moment goes in one transaction, and what comes meanwhile in the next', async () => {
  const lanes = noted()
  const claimed = lanes.go('claim')
  // Some promises later, as one who hears that it has released asks again.
  await Promise.resolve().then(() => Promise.resolve())
  void lanes.go('ask')
  await nextTurn()
  expect(lanes.batches).toEqual([['claim', 'ask']])
  void lanes.go('release')
  void lanes.go('another ask')
  await nextTurn()
  expect(lanes.batches).toHaveLength(1)
  lanes.end()
  expect(await claimed).toBe('claim')
  await nextTurn()
  expect(lanes.batches).toEqual([
    ['claim', 'ask'],
    ['release', 'another ask'],
  ])
})

test('what is granted and what is asked again when a transaction ends go together', async () => {
  const lanes = noted()
  const released = lanes.go('release').then(() => lanes.go('ask'))
  void lanes.go('look').then(() => Promise.resolve().then(() => lanes.go('claim')))
  await nextTurn()
  lanes.end()
  await nextTurn()
  expect(lanes.batches).toEqual([
    ['release', 'look'],
    ['ask', 'claim'],
  ])
  lanes.end()
  expect(await released).toBe('ask')
})
