import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WaitersInMemory } from './queue.ts'
import type { Waiter } from './state.ts'

/** Some hang off a session; of the others, several are due at the same moment. */
const waiter = (operation: string, owner: string, ticket: number, node = owner): Waiter => ({
  operation,
  owner,
  node,
  hold: '1',
  ticket,
  sinceMs: 0,
  revision: ticket % 3 === 0 ? 'v' : undefined,
  disbelieve: undefined,
  disbelieved: undefined,
  reference: true,
  waitUntilMs: ticket % 3 === 0 ? 1_002 : undefined,
  lease: ticket % 2 === 0 ? { session: 's' } : { expiresAtMs: 1_000 + ((ticket * 7) % 4), ttlMs: 1_000 },
})

const dueAtMs = ({ lease, waitUntilMs }: Waiter) => Math.min(lease.expiresAtMs ?? Infinity, waitUntilMs ?? Infinity)

test('queues keep the order of arrival through every way of leaving', () => {
  const act = fc.record({
    leave: fc.boolean(),
    operation: fc.constantFrom('pull', 'lock'),
    owner: fc.nat(7).map(String),
    node: fc.constantFrom('a', 'b'),
  })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 150, size: 'max' }), (acts) => {
      const waiters = new WaitersInMemory()
      const expected: Waiter[] = []
      let ticket = 0
      for (const { leave, operation, owner, node } of acts) {
        const isSame = (each: Waiter) => each.operation === operation && each.owner === owner && each.node === node
        const present = expected.findIndex(isSame)
        if (leave && present >= 0) waiters.remove(expected.splice(present, 1)[0]!)
        else if (!leave && present < 0) {
          const added = waiter(operation, owner, ++ticket, node)
          expected.push(added)
          waiters.append(added)
        }
        expect(waiters.size).toBe(expected.length)
        expect(waiters.list(Infinity)).toEqual(expected)
        expect(waiters.list(3)).toEqual(expected.slice(0, 3))
        const after = Math.floor(ticket / 2)
        expect(waiters.list(3, after)).toEqual(expected.filter((each) => each.ticket > after).slice(0, 3))
        const queues = ['pull', 'lock'].map((name) => expected.filter((each) => each.operation === name))
        expect(waiters.operations().sort()).toEqual(['lock', 'pull'].filter((name) => waiters.count(name) > 0))
        for (const queue of queues) {
          const name = queue === queues[0] ? 'pull' : 'lock'
          expect(waiters.head(name)).toBe(queue[0])
          expect(waiters.count(name)).toBe(queue.length)
          expect(waiters.all(name)).toEqual(queue)
          expect(waiters.ofOwner(name, owner)).toEqual(queue.filter((each) => each.owner === owner))
          expect(waiters.ofRevision(name, 'v')).toEqual(queue.filter(({ revision }) => revision === 'v'))
          for (const [index, each] of queue.entries()) expect(waiters.position(each)).toBe(index + 1)
        }
        const nextMs = Math.min(...expected.map(dueAtMs))
        expect(waiters.nextDeadlineMs()).toBe(nextMs === Infinity ? undefined : nextMs)
      }
    }),
    { numRuns: 60 },
  )
})

test('those that are due leave by their deadlines, and by their places where these are the same', () => {
  const waiters = new WaitersInMemory()
  const all = Array.from({ length: 40 }, (_, index) => waiter('pull', `n${index}`, index))
  for (const each of all.toReversed()) waiters.append(each)
  const left: Waiter[] = []
  for (let due = waiters.due(1_002); due; due = waiters.due(1_002)) {
    left.push(due)
    waiters.remove(due)
  }
  const expected = all.filter((each) => dueAtMs(each) <= 1_002)
  expect(left).toEqual(expected.sort((a, b) => dueAtMs(a) - dueAtMs(b) || a.ticket - b.ticket))
})

test('a queue of ten thousand is as quick to join, to look at and to leave as a short one', () => {
  const waiters = new WaitersInMemory()
  const all = Array.from({ length: 10_000 }, (_, index) => waiter('pull', `n${index}`, index))
  const last = all.at(-1)!
  const positions: number[] = []
  const startUs = process.cpuUsage().user
  for (const each of all) waiters.append(each)
  for (const each of all) positions.push(waiters.position(each))
  for (const each of all.slice(0, -1)) {
    waiters.remove(each)
    positions.push(waiters.position(last))
  }
  // Some 50 ms; many seconds if every step went through the whole queue.
  expect(process.cpuUsage().user - startUs).toBeLessThan(1_000_000)
  expect(positions).toEqual([...all.map((_, index) => index + 1), ...all.slice(1).map((_, index) => 9_999 - index)])
  expect(waiters.head('pull')).toBe(last)
})
