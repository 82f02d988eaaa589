import { seen } from '@baton-lock/test-support/seen-events'
import { expect, test } from 'vitest'
import { Timelines } from './timelines.ts'

const at = { namespace: 'default', resource: 'r' }

test('a grant is shown with how it was come by, what became of it, and who has skipped on it', () => {
  const timelines = new Timelines()
  timelines.granted(seen.granted({ fence: 1, atMs: 10 }).event)
  timelines.ended(seen.ended({ fence: 1, atMs: 20, outcome: { outcome: 'failure', error: 'boom' } }).event)
  timelines.granted(seen.granted({ fence: 2, atMs: 20, node: 'b', waitedMs: 7 }).event)
  timelines.claimed(seen.claimed({ fence: 2, atMs: 25 }).event)
  const grant = { operation: 'pull', attempt: 1, skips: 0 }
  const [a, b] = ['a', 'b'].map((node) => ({ ...grant, node, owner: `${node}-1` }))
  expect(timelines.of(at)).toEqual([
    { ...a, fence: 1, grantedAtMs: 10, endedAtMs: 20, outcome: 'failure', error: 'boom', handOver: false },
    { ...b, fence: 2, grantedAtMs: 20, claimedAtMs: 25, handOver: true, waitedMs: 7 },
  ])
  timelines.ended(seen.ended({ fence: 2, atMs: 40 }).event)
  timelines.skipped(at, 2, 3)
  timelines.skipped(at, 2, 1)
  timelines.skipped(at, 0, 1)
  timelines.skipped({ ...at, resource: 'never granted' }, 2, 1)
  expect(timelines.of(at)[1]).toMatchObject({ endedAtMs: 40, outcome: 'success', skips: 4 })
  expect(timelines.of(at)[1]!.error).toBeUndefined()
  expect(timelines.of({ ...at, namespace: 'other' })).toEqual([])
})

test('operations of one resource run side by side', () => {
  const timelines = new Timelines()
  timelines.granted(seen.granted({ fence: 1 }).event)
  timelines.granted(seen.granted({ fence: 2, operation: 'update' }).event)
  timelines.ended(seen.ended({ fence: 1, atMs: 5 }).event)
  expect(timelines.of(at).map(({ endedAtMs }) => endedAtMs)).toEqual([5, undefined])
})

test('one whose beginning was not seen is shown from its end, in its place', () => {
  const timelines = new Timelines()
  timelines.granted(seen.granted({ fence: 5, operation: 'update', atMs: 50 }).event)
  timelines.ended(seen.ended({ fence: 4, atMs: 60, heldMs: 40 }).event)
  expect(timelines.of(at).map(({ fence, grantedAtMs, endedAtMs }) => [fence, grantedAtMs, endedAtMs])).toEqual([
    [4, 20, 60],
    [5, 50, undefined],
  ])
})

test('where ends may have been missed, nothing is shown as held that may not be', () => {
  const timelines = new Timelines()
  for (const [fence, resource] of [
    [1, 'r'],
    [2, 'r'],
    [1, 's'],
  ] as const) {
    timelines.granted(seen.granted({ resource, fence }).event)
    if (fence === 1 && resource === 'r') timelines.ended(seen.ended({ fence, atMs: 3 }).event)
  }
  timelines.forgetOpen()
  expect(timelines.of(at).map(({ fence }) => fence)).toEqual([1])
  expect(timelines.of({ ...at, resource: 's' })).toEqual([])
  // And where one was missed all the same, the next grant of the key says that it has ended.
  timelines.granted(seen.granted({ fence: 3, atMs: 10 }).event)
  timelines.granted(seen.granted({ fence: 4, atMs: 30 }).event)
  expect(timelines.of(at)[1]).toMatchObject({ fence: 3, endedAtMs: 30 })
  expect(timelines.of(at)[1]).not.toHaveProperty('outcome')
})

test('fifty of a resource are known; in all so many, and those that nothing happens to go first', () => {
  const timelines = new Timelines()
  for (let fence = 1; fence <= 60; fence++) timelines.granted(seen.granted({ fence }).event)
  expect(timelines.of(at).map(({ fence }) => fence)).toEqual(Array.from({ length: 50 }, (_, index) => index + 11))
  for (let index = 0; index < 19_950; index++)
    timelines.granted(seen.granted({ resource: `r${index}`, atMs: index }).event)
  expect(timelines.of(at)).toHaveLength(50)
  timelines.ended(seen.ended({ resource: 'r0' }).event)
  timelines.granted(seen.granted({ resource: 'one more', atMs: 30_000 }).event)
  expect(timelines.of(at)).toEqual([])
  const isKnown = (resource: string) => timelines.of({ ...at, resource }).length > 0
  for (let index = 0; index < 50; index++)
    timelines.granted(seen.granted({ resource: `more ${index}`, atMs: 30_000 }).event)
  expect(['r0', 'r1', 'r2', 'r19949'].map(isKnown)).toEqual([true, false, true, true])
})

test('long names and errors take the place of more grants', () => {
  const timelines = new Timelines()
  const error = 'x'.repeat(4_096)
  for (let index = 0; index < 3_000; index++) {
    const one = { resource: `r${index}`, node: 'n'.repeat(512), atMs: index }
    timelines.granted(seen.granted(one).event)
    timelines.ended(seen.ended({ ...one, outcome: { outcome: 'failure', error } }).event)
  }
  const known = Array.from({ length: 3_000 }, (_, index) => timelines.of({ ...at, resource: `r${index}` }).length)
  const count = known.filter((length) => length > 0).length
  expect(count).toBeGreaterThan(900)
  expect(count).toBeLessThan(1_100)
  expect(known.at(-1)).toBe(1)
})

test('of a flood two thousand a second are taken up, and all that somebody has waited for', () => {
  const timelines = new Timelines()
  const isKnown = (resource: string) => timelines.of({ ...at, resource }).length > 0
  timelines.granted(seen.granted({ resource: 'before' }).event)
  for (let index = 0; index < 30_000; index++) {
    timelines.granted(seen.granted({ resource: `r${index}` }).event)
    timelines.ended(seen.ended({ resource: `r${index}` }).event)
  }
  expect(['before', 'r0', 'r1998', 'r1999', 'r29999'].map(isKnown)).toEqual([true, true, true, false, false])
  timelines.granted(seen.granted({ resource: 'waited for', waitedMs: 5 }).event)
  timelines.granted(seen.granted({ resource: 'a second later', atMs: 1_000 }).event)
  expect(['waited for', 'a second later'].map(isKnown)).toEqual([true, true])
})
