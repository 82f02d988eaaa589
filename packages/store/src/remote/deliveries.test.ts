import { expect, test } from 'vitest'
import { Deliveries } from './deliveries.ts'

/** A letter that is known by what it says is due. */
const letter = (resource: string, dueInMs: number) => ({ namespace: 'default', resource, dueInMs, events: [] })

test('what others did after a step of this process is told after that step, whenever it is heard of', () => {
  const told: string[] = []
  const deliveries = new Deliveries(({ resource, dueInMs }) => told.push(`${resource} ${dueInMs}`))
  const [r, other] = [letter('r', 0), letter('other', 0)]
  deliveries.receive(letter('r', 1))
  deliveries.hold([r, other])
  deliveries.receive(letter('r', 3))
  deliveries.receive(letter('r', 4))
  deliveries.receive(letter('unrelated', 9))
  expect(told).toEqual(['r 1', 'unrelated 9'])
  deliveries.release([r, other], [letter('r', 2)])
  expect(told).toEqual(['r 1', 'unrelated 9', 'r 2', 'r 3', 'r 4'])
  deliveries.receive(letter('r', 5))
  expect(told.at(-1)).toBe('r 5')
})

test('where a transaction came to nothing, what has come meanwhile is told', () => {
  const told: unknown[] = []
  const deliveries = new Deliveries(({ dueInMs }) => told.push(dueInMs))
  deliveries.hold([letter('r', 0)])
  deliveries.receive(letter('r', 1))
  deliveries.release([letter('r', 0)], [])
  expect(told).toEqual([1])
})
