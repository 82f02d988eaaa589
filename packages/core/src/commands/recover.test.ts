import { expect, test } from 'vitest'
import type { Acquire, Command } from '../command.ts'
import { defaultNamespacePolicy } from '../policy.ts'
import { nextDeadlineMs } from '../rules/expire.ts'
import { resourceInMemory } from '../state/in-memory.ts'
import { step } from '../step.ts'
import { viewOf } from '../view/view.ts'

function newWorld() {
  const resource = resourceInMemory('default', 'r')
  const at = (nowMs: number, command: Command) =>
    step(resource, command, { nowMs, policy: defaultNamespacePolicy, fenceFloor: 0 })
  const ask = (node: string, more: Partial<Acquire> = {}): Acquire => ({
    type: 'acquire',
    operation: 'pull',
    node,
    owner: node,
    hold: '1',
    ttlMs: 10_000,
    ...more,
  })
  return { resource, at, ask }
}

test('a lease does not run out while the store is away: it begins anew', () => {
  const { resource, at, ask } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  expect(at(500_000, { type: 'recover' }).events).toEqual([])
  at(509_999, { type: 'expire' })
  expect(viewOf(resource)).toMatchObject({ grants: [{ node: 'a', fence: 1 }], waiting: 1 })
  at(510_000, { type: 'expire' })
  expect(viewOf(resource)).toMatchObject({ grants: [], waiting: 0 })
})

test('a grant that waits to be claimed has its claim time once more', () => {
  const { resource, at, ask } = newWorld()
  at(0, ask('a'))
  at(0, ask('b', { ttlMs: 1_000, placeTtlMs: 1_000 }))
  at(10, { type: 'release', operation: 'pull', owner: 'a', hold: '1', fence: 1, outcome: 'failure', error: 'x' })
  at(90_000, { type: 'recover' })
  expect(viewOf(resource).grants).toMatchObject([{ node: 'b', claimed: false }])
  expect(nextDeadlineMs(resource)).toBe(91_000)
  expect(at(90_900, ask('b', { ttlMs: 1_000, placeTtlMs: 1_000 })).reply).toMatchObject({ status: 'granted', fence: 2 })
})

test('successes and wait limits go by the clock on the wall', () => {
  const { resource, at, ask } = newWorld()
  at(0, ask('a', { reference: false }))
  at(0, { type: 'release', operation: 'pull', owner: 'a', hold: '1', fence: 1, outcome: 'success' })
  at(0, ask('c', { operation: 'lock' }))
  at(0, ask('d', { operation: 'lock', waitMs: 5_000 }))
  const { events } = at(3_600_000, { type: 'recover' })
  expect(viewOf(resource)).toMatchObject({ kept: [], grants: [{ node: 'c' }], waiting: 0 })
  expect(events).toMatchObject([{ event: { type: 'told', answer: { status: 'refused', code: 'wait-over' } } }])
})
