import { expect, test } from 'vitest'
import type { Acquire, Command } from './command.ts'
import type { AddressedEvent, Event } from './event.ts'
import { defaultNamespacePolicy, type NamespacePolicy } from './policy.ts'
import { resourceInMemory } from './state/in-memory.ts'
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

const addressed = (events: readonly AddressedEvent[]) =>
  events.map(({ event, to }) => [
    event.type,
    ...to.map(({ operation, node, owner, sessions }) => [operation, node, owner, ...sessions].join(' ')),
  ])

test('an event is for the actor that it is about, by the sessions that keep it alive', () => {
  const { at, ask } = newWorld()
  expect(addressed(at(0, ask('a', { session: 'sa' })).events)).toEqual([['granted', 'pull a a1 sa']])
  expect(addressed(at(0, ask('b')).events)).toEqual([['queued', 'pull b b1']])
  expect(addressed(at(0, ask('c', { session: 'sc' })).events)).toEqual([['queued', 'pull c c1 sc']])
  at(0, ask('a', { session: 'other', hold: '2' }))
  at(0, ask('a', { hold: '3' }))
  const end = { type: 'release', operation: 'pull', owner: 'a1', fence: 1, outcome: 'success' } as const
  expect(addressed(at(0, { ...end, hold: '3' }).events)).toEqual([['hold-ended', 'pull a a1']])
  expect(addressed(at(0, { type: 'revoke', operation: 'pull' }).events)).toEqual([
    ['ended', 'pull a a1 sa other'],
    ['granted', 'pull b b1'],
  ])
  // A grant that is not claimed is kept alive by the session of its waiter.
  expect(addressed(at(5_000, { type: 'expire' }).events)).toEqual([
    ['ended', 'pull b b1'],
    ['granted', 'pull c c1 sc'],
  ])
  expect(addressed(at(10_000, { type: 'expire' }).events)).toEqual([['ended', 'pull c c1 sc']])
})

test('one event is for all who are told, and nobody is told what changes of references', () => {
  const { at, ask } = newWorld()
  at(0, ask('a'))
  at(0, ask('b', { session: 'sb' }))
  at(3_000, ask('c'))
  const end = { type: 'release', operation: 'pull', owner: 'a1', hold: '1', fence: 1, outcome: 'success' } as const
  const { events } = at(4_000, end)
  expect(addressed(events)).toEqual([
    ['ended', 'pull a a1'],
    ['referenced'],
    ['referenced'],
    ['referenced'],
    ['told', 'pull b b1 sb', 'pull c c1'],
  ])
  expect(events.at(-1)).toMatchObject({ event: { count: 2 }, to: [{ waitedMs: 4_000 }, { waitedMs: 1_000 }] })
})

test('events say where and when, and have the same form however they come about', () => {
  const { at, ask } = newWorld()
  const seen: Event[] = []
  const note = ({ events }: { readonly events: readonly AddressedEvent[] }) => {
    for (const { event } of events) seen.push(event)
  }
  note(at(1, ask('a', { operation: 'update', revision: 'v1', session: 'a secret' })))
  note(at(2, ask('b', { operation: 'update', revision: 'v1', session: 'another secret' })))
  note(at(5, { type: 'release', operation: 'update', owner: 'a1', hold: '1', outcome: 'failure', error: 'boom' }))
  note(at(9, ask('b', { operation: 'update', revision: 'v1', session: 'another secret' })))
  const common = { namespace: 'default', resource: 'r', operation: 'update' }
  const a = { ...common, node: 'a', owner: 'a1' }
  const b = { ...common, node: 'b', owner: 'b1' }
  expect(seen).toEqual([
    { type: 'granted', atMs: 1, ...a, fence: 1, attempt: 1, handOver: false, revision: 'v1' },
    { type: 'queued', atMs: 2, ...b, position: 1, revision: 'v1' },
    {
      type: 'ended',
      atMs: 5,
      ...a,
      fence: 1,
      attempt: 1,
      heldMs: 4,
      outcome: { outcome: 'failure', error: 'boom' },
      revision: 'v1',
    },
    { type: 'granted', atMs: 5, ...b, fence: 2, attempt: 2, handOver: true, waitedMs: 3, revision: 'v1' },
    { type: 'claimed', atMs: 9, ...b, fence: 2 },
  ])
  expect(JSON.stringify(seen)).not.toContain('secret')
})

test('progress is for all who wait for the grant to end: those of its key, or of the resource', () => {
  for (const [exclusion, others] of [
    ['operation', []],
    ['resource', ['lock c c1 sc']],
  ] as const) {
    const { at, ask, report } = newWorld({ exclusion })
    at(0, ask('a'))
    expect(addressed(at(0, report(1)).events)).toEqual([['progress']])
    expect(at(0, report(1)).nextDeadlineMs).toBe(60_000)
    at(0, ask('b', { session: 'sb' }))
    at(0, ask('x', { operation: 'lock', hold: '2' }))
    at(0, ask('c', { operation: 'lock', session: 'sc' }))
    const expected = [...(exclusion === 'resource' ? ['pull b b1 sb', 'lock x x1'] : ['pull b b1 sb']), ...others]
    expect(addressed(at(1_000, report(2)).events)).toEqual([['progress', ...expected]])
    expect(addressed(at(1_500, report(3)).events)).toEqual([['progress']])
    expect(addressed(at(1_999, report(4)).events)).toEqual([['progress']])
    // The second is over to the millisecond: what is told then is the latest.
    expect(at(2_000, { type: 'expire' }).events).toMatchObject([{ event: { type: 'progress', progress: 4 } }])
    expect(addressed(at(3_000, report(5)).events)).toEqual([['progress', ...expected]])
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
