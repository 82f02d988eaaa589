import { expect, test } from 'vitest'
import type { Acquire, Command } from './command.ts'
import { resourceInMemory } from './in-memory.ts'
import { defaultNamespacePolicy } from './policy.ts'
import { step } from './step.ts'
import { standingOf, viewOf } from './view.ts'

function newWorld() {
  const resource = resourceInMemory('default', 'r')
  const at = (nowMs: number, command: Command) =>
    step(resource, command, { nowMs, policy: defaultNamespacePolicy, fenceFloor: 0 })
  const ask = (node: string, more: Partial<Acquire> = {}): Acquire => {
    return { type: 'acquire', operation: 'lock', node, owner: node, hold: '1', ttlMs: 60_000, ...more }
  }
  const end = (owner: string, more: object): Command => {
    return { type: 'release', operation: 'lock', owner, hold: '1', ...more } as Command
  }
  return { resource, at, ask, end }
}

test('the last outcome of a key is seen for ten seconds', () => {
  const { resource, at, ask, end } = newWorld()
  at(0, ask('a', { revision: 'v1' }))
  at(5, end('a', { outcome: 'failure', error: 'x' }))
  const seen = { operation: 'lock', node: 'a', fence: 1, atMs: 5, revision: 'v1' }
  expect(viewOf(resource).recent).toEqual([{ ...seen, outcome: { outcome: 'failure', error: 'x' } }])
  at(10_004, { type: 'expire' })
  expect(viewOf(resource).recent).toHaveLength(1)
  at(10_005, { type: 'expire' })
  expect(viewOf(resource).recent).toEqual([])
})

test('a grant that nobody claimed leaves no outcome behind', () => {
  const { resource, at, ask, end } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  at(0, end('a', { outcome: 'success' }))
  at(5_000, { type: 'expire' })
  expect(viewOf(resource)).toMatchObject({ grants: [], recent: [{ node: 'a', fence: 1 }] })
})

test('where an ask stands', () => {
  const { resource, at, ask, end } = newWorld()
  const standing = (owner: string, hold = '1') => standingOf(resource, { operation: 'lock', owner, hold })
  expect(standing('a')).toEqual({ status: 'nothing' })
  at(0, ask('a'))
  expect(standing('a')).toEqual({ status: 'granted', fence: 1, attempt: 1, holds: 1, claimed: true })
  at(0, ask('b'))
  at(0, ask('c', { waitMs: 1_000 }))
  expect(standing('c')).toEqual({ status: 'queued', position: 2 })
  at(1_000, end('a', { outcome: 'success' }))
  expect(standing('b')).toEqual({ status: 'granted', fence: 2, attempt: 1, holds: 0, claimed: false })
  expect(standing('c')).toEqual({ status: 'refused', code: 'wait-over' })
  expect(standing('c', '2')).toEqual({ status: 'nothing' })
})
