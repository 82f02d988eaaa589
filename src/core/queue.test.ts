import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WaitersInMemory } from './queue.ts'
import type { Waiter } from './state.ts'

const waiter = (operation: string, owner: string, ticket: number): Waiter => ({
  operation,
  owner,
  node: owner,
  hold: '1',
  ticket,
  sinceMs: 0,
  revision: ticket % 3 === 0 ? 'v' : undefined,
  disbelieve: undefined,
  disbelieved: undefined,
  reference: true,
  ttlMs: 1_000,
  waitUntilMs: undefined,
  lease: { expiresAtMs: 1_000 + ((ticket * 7) % 50), ttlMs: 1_000 },
})

test('queues keep the order of arrival through every way of leaving', () => {
  const act = fc.record({
    leave: fc.boolean(),
    operation: fc.constantFrom('pull', 'lock'),
    owner: fc.nat(15).map(String),
  })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 150 }), (acts) => {
      const waiters = new WaitersInMemory()
      const expected: Waiter[] = []
      let ticket = 0
      for (const { leave, operation, owner } of acts) {
        const present = expected.findIndex((each) => each.operation === operation && each.owner === owner)
        if (leave && present >= 0) waiters.remove(expected.splice(present, 1)[0]!)
        else if (!leave && present < 0) {
          const added = waiter(operation, owner, ++ticket)
          expected.push(added)
          waiters.append(added)
        }
        expect(waiters.size).toBe(expected.length)
        expect(waiters.list(Infinity)).toEqual(expected)
        for (const name of ['pull', 'lock']) {
          const queue = expected.filter((each) => each.operation === name)
          expect(waiters.head(name)).toBe(queue[0])
          expect(waiters.count(name)).toBe(queue.length)
          expect(waiters.ofRevision(name, 'v')).toEqual(queue.filter(({ revision }) => revision === 'v'))
          for (const [index, each] of queue.entries()) expect(waiters.position(each)).toBe(index + 1)
        }
        const dueAts = expected.map(({ lease }) => lease.expiresAtMs ?? Infinity)
        expect(waiters.nextDeadlineMs()).toBe(dueAts.length === 0 ? undefined : Math.min(...dueAts))
      }
    }),
    { numRuns: 60 },
  )
})

test('a queue of ten thousand is as quick to join and leave as a short one', () => {
  const waiters = new WaitersInMemory()
  const all = Array.from({ length: 10_000 }, (_, index) => waiter('pull', `n${index}`, index))
  for (const each of all) waiters.append(each)
  expect(waiters.position(all[9_999]!)).toBe(10_000)
  for (const each of all.slice(0, 9_999)) waiters.remove(each)
  expect(waiters.position(all[9_999]!)).toBe(1)
  expect(waiters.head('pull')).toBe(all[9_999])
})
