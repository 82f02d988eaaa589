import { expect, test } from 'vitest'
import type { Acquire, Command } from '../command.ts'
import { defaultNamespacePolicy } from '../policy.ts'
import { resourceInMemory } from '../state/in-memory.ts'
import { step } from '../step.ts'
import { lateSkip, standingOf, viewOf, waitersOf } from './view.ts'

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
  const context = { nowMs: 1_000, policy: defaultNamespacePolicy, fenceFloor: 0 }
  const standing = (owner: string, hold = '1', node?: string) =>
    standingOf(resource, context, { operation: 'lock', node, owner, hold })
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
  expect(standing('c', '1', 'c')).toEqual({ status: 'refused', code: 'wait-over' })
  expect(standing('c', '1', 'a')).toEqual({ status: 'nothing' })
  expect(standing('b', '1', 'a')).toEqual({ status: 'nothing' })
})

test('who waits is told how far the one is that stands in its way', () => {
  const { resource, at, ask } = newWorld()
  at(0, ask('a'))
  at(0, ask('b'))
  at(1, { type: 'progress', operation: 'lock', owner: 'a', fence: 1, progress: { bytes: 7 } })
  const context = { nowMs: 1, policy: defaultNamespacePolicy, fenceFloor: 0 }
  const place = { operation: 'lock', owner: 'b', hold: '1' }
  expect(standingOf(resource, context, place)).toEqual({ status: 'queued', position: 1, progress: { bytes: 7 } })
})

test('waiters are listed in pages, the oldest first', () => {
  const { resource, at, ask } = newWorld()
  for (const node of ['a', 'b', 'c', 'd']) at(0, ask(node))
  const first = waitersOf(resource, { limit: 2 })
  expect(first.waiters.map(({ node }) => node)).toEqual(['b', 'c'])
  const last = waitersOf(resource, { limit: 2, after: first.next! })
  expect(last.waiters.map(({ node }) => node)).toEqual(['d'])
  expect(last.next).toBeUndefined()
  expect(waitersOf(resource, { limit: 3 })).not.toHaveProperty('next')
})

test('who comes late is told of the last success, until somebody does the work again or undoes it', () => {
  const { resource, at, ask, end } = newWorld()
  const late = (nowMs: number, operation = 'update') =>
    lateSkip(resource, { nowMs, policy: defaultNamespacePolicy, fenceFloor: 0 }, operation)
  const update = (owner: string, outcome: object) => end(owner, { operation: 'update', ...outcome })
  expect(late(0)).toBeUndefined()
  at(0, ask('a', { operation: 'update' }))
  expect(late(0)).toBeUndefined()
  at(5, update('a', { outcome: 'success' }))
  expect(late(6)).toEqual({ status: 'skip', fence: 1, by: 'a', atMs: 5 })
  at(7, ask('b', { operation: 'update' }))
  expect(late(7)).toBeUndefined()
  at(8, update('b', { outcome: 'success' }))
  expect(late(8)).toMatchObject({ fence: 2 })
  at(9, ask('c', { operation: 'delete' }))
  expect(late(9)).toBeUndefined()
  at(9, end('c', { operation: 'delete', outcome: 'success' }))
  expect(late(9)).toBeUndefined()
  expect(late(9, 'delete')).toEqual({ status: 'skip', fence: 3, by: 'c', atMs: 9 })
  at(10_009, { type: 'expire' })
  expect(late(10_009, 'delete')).toBeUndefined()
  expect(late(10_009, 'lock')).toBeUndefined()
})

test('who comes late skips on what one who asks now would skip on, and on a success for those who named no revision', () => {
  const { resource, at, ask, end } = newWorld()
  const late = (nowMs: number, operation: string) =>
    lateSkip(resource, { nowMs, policy: defaultNamespacePolicy, fenceFloor: 0 }, operation)
  // A type of a classic client's own is work that is done once.
  at(0, ask('a', { operation: 'image-layer', classic: true }))
  at(1, end('a', { operation: 'image-layer', outcome: 'success' }))
  expect(late(2, 'image-layer')).toEqual({ status: 'skip', fence: 1, by: 'a', atMs: 1 })
  // A lock is work that everybody does.
  at(3, ask('a'))
  at(4, end('a', { outcome: 'success' }))
  expect(late(5, 'lock')).toBeUndefined()
  at(6, ask('a', { operation: 'update', revision: 'v1' }))
  at(7, end('a', { operation: 'update', outcome: 'success' }))
  expect(late(8, 'update')).toBeUndefined()
  at(9, ask('b', { operation: 'update' }))
  at(10, end('b', { operation: 'update', outcome: 'failure', error: 'x' }))
  expect(late(11, 'update')).toBeUndefined()
  // A kept success goes before the last one, also when that is long past; references alone say nothing of who did it.
  at(12, ask('a', { operation: 'pull' }))
  at(13, end('a', { operation: 'pull', outcome: 'success', result: 1 }))
  expect(late(14, 'pull')).toMatchObject({ fence: 5, by: 'a', result: 1 })
  at(60_000, { type: 'expire' })
  expect(late(60_000, 'pull')).toMatchObject({ fence: 5, by: 'a', result: 1 })
  at(3_700_000, { type: 'expire' })
  expect(late(3_700_000, 'pull')).toMatchObject({ status: 'skip', fence: 0 })
  // The last success says more than references do, also where none is kept.
  at(3_700_001, ask('b', { operation: 'pull', disbelieve: Number.MAX_SAFE_INTEGER }))
  at(3_700_002, end('b', { operation: 'pull', outcome: 'success', effect: 'none' }))
  expect(late(3_700_003, 'pull')).toMatchObject({ status: 'skip', fence: 6, by: 'b' })
})

test('what an ask was told shows for ten seconds, and not past a contradiction', () => {
  const { resource, at, ask, end } = newWorld()
  const standing = (nowMs: number) =>
    standingOf(
      resource,
      { nowMs, policy: defaultNamespacePolicy, fenceFloor: 0 },
      { operation: 'pull', owner: 'b', hold: '1' },
    )
  at(0, ask('a', { operation: 'pull', reference: false }))
  at(0, ask('b', { operation: 'pull', reference: false }))
  at(0, { ...end('a', { outcome: 'success' }), operation: 'pull' } as Command)
  expect(standing(9_999)).toMatchObject({ status: 'skip', fence: 1 })
  expect(standing(10_000)).toEqual({ status: 'nothing' })
  at(0, ask('c', { operation: 'delete' }))
  expect(standing(1)).toEqual({ status: 'nothing' })
  at(0, { ...end('c', { outcome: 'failure', error: 'x' }), operation: 'delete' } as Command)
  expect(standing(1)).toMatchObject({ status: 'skip', fence: 1 })
  at(0, ask('d', { operation: 'delete' }))
  at(0, { ...end('d', { outcome: 'success' }), operation: 'delete' } as Command)
  expect(standing(1)).toEqual({ status: 'nothing' })
})
