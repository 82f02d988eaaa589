import { expect, test } from 'vitest'
import type { Acquire, Command } from '../command.ts'
import { builtInOperations, defaultNamespacePolicy, type NamespacePolicy } from '../policy.ts'
import { resourceInMemory } from '../state/in-memory.ts'
import { step } from '../step.ts'
import { viewOf, withLeases } from './view.ts'
import { type WaitFacts, whyWaiting } from './why.ts'

function newWorld(policy: NamespacePolicy = defaultNamespacePolicy) {
  const resource = resourceInMemory('default', 'r')
  const at = (nowMs: number, command: Command) => step(resource, command, { nowMs, policy, fenceFloor: 0 })
  const ask = (node: string, more: Partial<Acquire> = {}): Acquire => {
    return { type: 'acquire', operation: 'lock', node, owner: node, hold: '1', ttlMs: 60_000, ...more }
  }
  const why = (nowMs: number, more: Partial<WaitFacts> = {}) =>
    whyWaiting(viewOf(resource), { nowMs, exclusion: policy.exclusion, usualMs: () => undefined, ...more })
  return { resource, at, ask, why }
}

test('nobody waits: there is nothing to explain', () => {
  const { at, ask, why } = newWorld()
  at(0, ask('a'))
  expect(why(10)).toEqual([])
})

test('held by somebody, for so long, beside the usual where that is known', () => {
  const { at, ask, why } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  at(0, ask('c'))
  const held = { why: 'held', operation: 'lock', node: 'a', fence: 1, forMs: 7_000 }
  expect(why(7_000)).toEqual([{ operation: 'lock', waiting: 2, reasons: [held] }])
  const usualMs = (operation: string) => (operation === 'lock' ? 3_000 : undefined)
  expect(why(7_000, { usualMs })).toMatchObject([{ reasons: [{ ...held, usualMs: 3_000 }] }])
})

test('a grant that nobody has claimed yet, and when it passes on', () => {
  const { at, ask, why } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  at(0, ask('c'))
  at(1_000, { type: 'release', operation: 'lock', owner: 'a', hold: '1', fence: 1, outcome: 'cancelled' })
  const unclaimed = { why: 'unclaimed', operation: 'lock', node: 'b', passesOnInMs: 4_000 }
  expect(why(2_000)).toEqual([{ operation: 'lock', waiting: 1, reasons: [unclaimed] }])
})

test('a retry delay, and the attempt that comes after it', () => {
  const lock = { ...builtInOperations.lock!, retryDelayMs: 10_000 }
  const { at, ask, why } = newWorld({ ...defaultNamespacePolicy, operations: { lock } })
  at(0, ask('a'))
  at(0, ask('b'))
  at(0, { type: 'release', operation: 'lock', owner: 'a', hold: '1', fence: 1, outcome: 'failure', error: 'x' })
  const paused = { why: 'paused', operation: 'lock', forMs: 6_000, attempt: 2 }
  expect(why(4_000)).toEqual([{ operation: 'lock', waiting: 1, reasons: [paused] }])
})

test('a holder that has let half of its lease pass without renewing it is silent', () => {
  const { at, ask, why } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  expect(why(29_999)[0]?.reasons).toHaveLength(1)
  expect(why(30_000)[0]?.reasons[1]).toEqual({ why: 'silent', node: 'a', forMs: 30_000, expiresInMs: 30_000 })
  at(30_000, { type: 'renew', operation: 'lock', owner: 'a', fence: 1 })
  expect(why(30_000)[0]?.reasons).toHaveLength(1)
})

test('the lease of a session is known from outside; of one that is not known nothing is said', () => {
  const { resource, at, ask } = newWorld()
  at(0, ask('a', { session: 's' }))
  at(0, ask('b'))
  const facts = { nowMs: 20_000, exclusion: 'operation', usualMs: () => undefined } as const
  const silent = (leaseMs?: number) => {
    const leaseOf = () => (leaseMs === undefined ? undefined : { expiresAtMs: leaseMs, ttlMs: 30_000 })
    return whyWaiting(withLeases(viewOf(resource), [['s']], leaseOf), facts)[0]?.reasons.slice(1)
  }
  expect(silent()).toEqual([])
  expect(silent(30_000)).toEqual([{ why: 'silent', node: 'a', forMs: 20_000, expiresInMs: 10_000 }])
  expect(silent(45_000)).toEqual([])
})

test('another operation blocks only where the whole resource has one holder', () => {
  const apart = newWorld()
  const alone = newWorld({ ...defaultNamespacePolicy, exclusion: 'resource' })
  for (const { at, ask } of [apart, alone]) {
    at(0, ask('a', { operation: 'update' }))
    at(0, ask('c', { operation: 'lock' }))
    at(0, ask('b', { operation: 'lock' }))
  }
  expect(apart.why(0)).toMatchObject([{ operation: 'lock', reasons: [{ why: 'held', operation: 'lock' }] }])
  expect(alone.why(0)).toMatchObject([
    { operation: 'lock', reasons: [{ why: 'held', operation: 'update', node: 'a' }] },
  ])
})
