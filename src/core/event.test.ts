import { expect, test } from 'vitest'
import type { Acquire, Command } from './command.ts'
import { concernsOf, type Event } from './event.ts'
import { resourceInMemory } from './in-memory.ts'
import { defaultNamespacePolicy, type NamespacePolicy } from './policy.ts'
import { step } from './step.ts'

function newWorld(switches: Partial<NamespacePolicy> = {}) {
  const resource = resourceInMemory('default', 'r')
  const policy = { ...defaultNamespacePolicy, ...switches }
  const at = (nowMs: number, command: Command) => step(resource, command, { nowMs, policy, fenceFloor: 0 })
  const ask = (node: string, more: Partial<Acquire> = {}): Acquire => {
    return { type: 'acquire', operation: 'pull', node, owner: `${node}1`, hold: '1', ttlMs: 60_000, ...more }
  }
  const report = (progress: number): Command => {
    return { type: 'progress', operation: 'pull', owner: 'a1', fence: 1, progress }
  }
  return { at, ask, report }
}

const concerned = (events: readonly Event[]) =>
  events.map((event) => [
    event.type,
    ...concernsOf(event).map(({ operation, node, owner, sessions }) => [operation, node, owner, ...sessions].join(' ')),
  ])

test('an event concerns those whom it names, with the sessions that they hang off', () => {
  const { at, ask } = newWorld()
  expect(concerned(at(0, ask('a', { session: 'sa' })).events)).toEqual([['granted', 'pull a a1 sa']])
  expect(concerned(at(0, ask('b')).events)).toEqual([['queued', 'pull b b1']])
  expect(concerned(at(0, ask('c', { session: 'sc' })).events)).toEqual([['queued', 'pull c c1 sc']])
  at(0, ask('a', { session: 'other', hold: '2' }))
  at(0, ask('a', { hold: '3' }))
  const end = { type: 'release', operation: 'pull', owner: 'a1', fence: 1, outcome: 'success' } as const
  expect(concerned(at(0, { ...end, hold: '3' }).events)).toEqual([['hold-ended', 'pull a a1']])
  expect(concerned(at(0, { type: 'revoke', operation: 'pull' }).events)).toEqual([
    ['ended', 'pull a a1 sa other'],
    ['granted', 'pull b b1'],
  ])
  // One that is not claimed hangs off what its waiter hung off.
  expect(concerned(at(5_000, { type: 'expire' }).events)).toEqual([
    ['ended', 'pull b b1'],
    ['granted', 'pull c c1 sc'],
  ])
  expect(concerned(at(10_000, { type: 'expire' }).events)).toEqual([['ended', 'pull c c1 sc']])
})

test('all who are told are concerned, and nobody by what changes of references', () => {
  const { at, ask } = newWorld()
  at(0, ask('a'))
  at(0, ask('b', { session: 'sb' }))
  at(0, ask('c'))
  const end = { type: 'release', operation: 'pull', owner: 'a1', hold: '1', fence: 1, outcome: 'success' } as const
  expect(concerned(at(0, end).events)).toEqual([
    ['ended', 'pull a a1'],
    ['referenced'],
    ['referenced'],
    ['referenced'],
    ['told', 'pull b b1 sb', 'pull c c1'],
  ])
})

test('progress concerns all who wait for the grant to end: those of its key, or of the resource', () => {
  for (const [exclusion, others] of [
    ['operation', []],
    ['resource', ['lock c c1 sc']],
  ] as const) {
    const { at, ask, report } = newWorld({ exclusion })
    at(0, ask('a'))
    expect(concerned(at(0, report(1)).events)).toEqual([['progress']])
    at(0, ask('b', { session: 'sb' }))
    at(0, ask('x', { operation: 'lock', hold: '2' }))
    at(0, ask('c', { operation: 'lock', session: 'sc' }))
    const expected = [...(exclusion === 'resource' ? ['pull b b1 sb', 'lock x x1'] : ['pull b b1 sb']), ...others]
    expect(concerned(at(0, report(2)).events)).toEqual([['progress'], ['progress-told', ...expected]])
    expect(concerned(at(999, report(3)).events)).toEqual([['progress']])
    // The second is over to the millisecond: what is told then is the latest.
    expect(at(1_000, { type: 'expire' }).events).toMatchObject([{ type: 'progress-told', progress: 3 }])
    expect(concerned(at(2_000, report(4)).events)).toEqual([['progress'], ['progress-told', ...expected]])
  }
})

test('a release by the holder under a hold that it does not have is none of the holder, with a fence or without', () => {
  const { at, ask } = newWorld()
  at(0, ask('a'))
  const end = { type: 'release', operation: 'pull', owner: 'a1', hold: 'nope', outcome: 'success' } as const
  expect(at(0, end).reply).toEqual({ status: 'refused', code: 'not-holder' })
  expect(at(0, { ...end, fence: 1 }).reply).toEqual({ status: 'refused', code: 'not-holder' })
  expect(at(0, { ...end, fence: 2 }).reply).toEqual({ status: 'refused', code: 'stale-fence' })
})
