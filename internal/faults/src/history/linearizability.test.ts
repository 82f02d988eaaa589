import {
  type Acquire,
  type Command,
  defaultNamespacePolicy as policy,
  type Release,
  resourceInMemory,
  SHARED_HOLD,
  step,
} from '@baton-lock/core'
import { seededRandom } from '@baton-lock/store/conformance/random'
import { expect, test } from 'vitest'
import { linearize, type Operation } from './linearizability.ts'

const acquire = (owner: string, more: Partial<Acquire> = {}): Acquire => ({
  type: 'acquire',
  operation: 'lock',
  node: owner,
  owner,
  hold: 'h',
  ttlMs: 30_000,
  ...more,
})
const release = (owner: string, fence: number, operation = 'lock'): Release => ({
  type: 'release',
  operation,
  owner,
  hold: 'h',
  fence,
  outcome: 'success',
})
const granted = (fence: number) => ({ status: 'granted', fence, attempt: 1, holds: 1 })
const released = { status: 'released', outcome: 'success', holdsLeft: 0 }
const queued = (position: number) => ({ status: 'queued', position })
const skip = (fence: number, by: string) => ({ status: 'skip', fence, by })

type Line = readonly [invokedAt: number, returnedAt: number | undefined, command: Command, reply?: object]
const verdict = (...lines: Line[]) =>
  linearize(
    lines.map(([invokedAt, returnedAt, command, reply]) => ({ invokedAt, returnedAt, command, reply }) as Operation),
    { policy },
  )

test('one after the other, as the rules say, is linearizable', () => {
  const { linearizable, order } = verdict(
    [0, 1, acquire('a'), granted(1)],
    [2, 3, acquire('b'), queued(1)],
    [4, 5, release('a', 1), released],
    [6, 7, acquire('b'), granted(2)],
  )
  expect([linearizable, order.length]).toEqual([true, 4])
})

test('two at the same time may have come in either order', () => {
  expect(verdict([0, 9, acquire('a'), queued(1)], [1, 8, acquire('b'), granted(1)]).linearizable).toBe(true)
})

test('two holders are not linearizable, and what could not be placed is told', () => {
  const result = verdict([0, 9, acquire('a'), granted(1)], [1, 8, acquire('b'), granted(2)])
  expect(result.linearizable).toBe(false)
  if (result.linearizable) return
  expect(result.order.map(({ command }) => (command as Acquire).owner)).toEqual(['a'])
  expect(result.stuck).toEqual([
    { operation: expect.objectContaining({ invokedAt: 1 }), expected: { status: 'queued', position: 1 } },
  ])
})

test('an order that only holds against the clock is none', () => {
  expect(verdict([0, 1, acquire('a'), queued(1)], [2, 3, acquire('b'), granted(1)]).linearizable).toBe(false)
})

test('a release that was acknowledged and lost is found', () => {
  const lines: Line[] = [
    [0, 1, acquire('a'), granted(1)],
    [2, 3, release('a', 1), released],
  ]
  expect(verdict(...lines, [4, 5, acquire('b'), granted(2)]).linearizable).toBe(true)
  expect(verdict(...lines, [4, 5, acquire('b'), queued(1)]).linearizable).toBe(false)
})

test('a fence that is given twice, or falls, is found', () => {
  const lines: Line[] = [
    [0, 1, acquire('a'), granted(1)],
    [2, 3, release('a', 1), released],
  ]
  expect(verdict(...lines, [4, 5, acquire('b'), granted(1)]).linearizable).toBe(false)
})

test('a skip that rests on a success that was contradicted before is a stale read', () => {
  const pull = { operation: 'pull', reference: false }
  const lines: Line[] = [
    [0, 1, acquire('a', pull), granted(1)],
    [2, 3, release('a', 1, 'pull'), released],
    [4, 5, acquire('b', pull), { ...skip(1, 'a'), atMs: 77 }],
    [6, 7, acquire('c', { operation: 'delete', reference: false, dropReference: true }), granted(2)],
    [8, 11, release('c', 2, 'delete'), released],
  ]
  // The pull of a added no reference: its success is all that a skip can rest on.
  expect(verdict(...lines, [12, 13, acquire('d', pull), granted(3)]).linearizable).toBe(true)
  expect(verdict(...lines, [12, 13, acquire('d', pull), skip(1, 'a')]).linearizable).toBe(false)
  expect(verdict(...lines, [6, 10, acquire('d', pull), skip(1, 'a')]).linearizable).toBe(true)
  // Nobody skips past a delete that is under way.
  expect(verdict(...lines, [9, 10, acquire('d', pull), skip(1, 'a')]).linearizable).toBe(false)
  expect(verdict(...lines, [9, 10, acquire('d', pull), granted(3)]).linearizable).toBe(true)
})

test('a place in line that was passed by is found', () => {
  const lines: Line[] = [
    [0, 1, acquire('a'), granted(1)],
    [2, 3, acquire('b'), queued(1)],
    [4, 5, acquire('c'), queued(2)],
    [6, 7, release('a', 1), released],
  ]
  expect(verdict(...lines, [8, 9, acquire('b'), granted(2)]).linearizable).toBe(true)
  expect(verdict(...lines, [8, 9, acquire('c'), granted(2)]).linearizable).toBe(false)
})

test('what was never answered may have happened, or not', () => {
  const lines: Line[] = [
    [0, 1, acquire('a'), granted(1)],
    [2, undefined, release('a', 1)],
  ]
  expect(verdict(...lines, [4, 5, acquire('b'), granted(2)]).linearizable).toBe(true)
  expect(verdict(...lines, [4, 5, acquire('b'), queued(1)]).linearizable).toBe(true)
  expect(verdict(...lines, [4, 5, acquire('b'), granted(3)]).linearizable).toBe(false)
  // It cannot have happened before it was sent.
  expect(verdict(lines[0]!, [4, 5, acquire('b'), granted(2)], [6, undefined, release('a', 1)]).linearizable).toBe(false)
})

/** What the real core answers to eight callers at once, each operation taking effect somewhere while it is under way. */
function overlapping(seed: number): Operation[] {
  const random = seededRandom(seed)
  const resource = resourceInMemory('default', 'r')
  const operations: Operation[] = []
  const freeAt = Array.from({ length: 8 }, () => 0)
  for (let at = 10; at < 1_000; at += 10) {
    const caller = random.pick(freeAt.flatMap((free, index) => (free < at ? [index] : [])))
    const [grant] = resource.grants.values()
    const command =
      grant && random.chance(0.4)
        ? { ...release(grant.owner, grant.fence, grant.operation), hold: SHARED_HOLD }
        : acquire(`n${caller}`, { operation: random.pick(['lock', 'pull']), hold: SHARED_HOLD, reference: false })
    const { reply } = step(resource, command, { nowMs: 1_000, policy, fenceFloor: 0 })
    const invokedAt = Math.max(freeAt[caller]!, at - random.integer(40))
    const returnedAt = at + random.integer(40)
    freeAt[caller] = returnedAt
    const isKnown = !random.chance(0.02)
    operations.push({ invokedAt, command, ...(isKnown && { returnedAt, reply: structuredClone(reply) }) })
  }
  return operations
}

test('what the core answers to eight at once is linearizable, and with one answer changed it is not', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const operations = overlapping(seed)
    expect(linearize(operations, { policy }).linearizable, `seed ${seed}`).toBe(true)
    const at = operations.findLastIndex(({ reply }) => reply && 'fence' in reply)
    const forged = { ...operations[at]!, reply: { ...operations[at]!.reply, fence: 999 } }
    expect(linearize(operations.with(at, forged), { policy }).linearizable, `forged, seed ${seed}`).toBe(false)
  }
})
