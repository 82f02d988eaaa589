import type { AddressedEvent } from '@baton-lock/core'
import { expect, test } from 'vitest'
import { EventBuffer } from './event-buffer.ts'

const at = { namespace: 'default', resource: 'r', atMs: 0 }
const event = (number: number): AddressedEvent => ({ event: { type: 'referenced', ...at, node: `n${number}` }, to: [] })
const nodes = (missed: ReturnType<EventBuffer['since']>) => missed?.map(([wire]) => ('node' in wire ? wire.node : ''))

test('who comes back is told exactly what it has missed', () => {
  const buffer = new EventBuffer(10, '0')
  const ids = [1, 2, 3].map((seq) => buffer.add(event(seq)))
  expect(nodes(buffer.since(ids[0]!, { of: 'all' }))).toEqual(['n2', 'n3'])
  expect(buffer.since(ids[2]!, { of: 'all' })).toEqual([])
  expect(buffer.since(ids[0]!, { of: 'all' })?.map(([, id]) => id)).toEqual(ids.slice(1))
})

test('who has been away for too long, or comes from another process, is told that it has missed something', () => {
  const buffer = new EventBuffer(10, '0')
  const first = buffer.lastId
  const ids = Array.from({ length: 100 }, (_, seq) => buffer.add(event(seq)))
  expect(buffer.since(first, { of: 'all' })).toBeUndefined()
  expect(nodes(buffer.since(ids[95]!, { of: 'all' }))).toEqual(['n96', 'n97', 'n98', 'n99'])
  for (const id of ['zz-5', '', 'x', `${first}9999`, '-1', '0--5', '0-1.5'])
    expect(buffer.since(id, { of: 'all' })).toBeUndefined()
})

test('who heard the last event before a gap has missed something all the same', () => {
  const buffer = new EventBuffer(10, '0')
  const last = buffer.add(event(1))
  buffer.forgetAll()
  expect(buffer.since(last, { of: 'all' })).toBeUndefined()
  const current = buffer.lastId
  expect(buffer.since(current, { of: 'all' })).toEqual([])
  buffer.add(event(2))
  expect(nodes(buffer.since(current, { of: 'all' }))).toEqual(['n2'])
  expect(buffer.since(last, { of: 'all' })).toBeUndefined()
})

test('events with large results do not fill the memory', () => {
  const buffer = new EventBuffer(100, '0')
  const answer = { status: 'skip', fence: 1, result: 'x'.repeat(200_000) } as const
  const told = { type: 'told', ...at, operation: 'pull', answer, count: 0 } as const
  const ids = Array.from({ length: 50 }, () => buffer.add({ event: told, to: [] }))
  expect(buffer.since(ids[40]!, { of: 'all' })).toBeUndefined()
  expect(buffer.since(ids[48]!, { of: 'all' })).toHaveLength(1)
})

test('events that are for thousands do not fill the memory', () => {
  const buffer = new EventBuffer(100, '0')
  const to = Array.from({ length: 4_000 }, (_, index) => {
    return { operation: 'pull', owner: `o${index}`, node: 'n', hold: '1', sessions: [], waitedMs: 0 }
  })
  const answer = { status: 'skip', fence: 1 } as const
  const told = { type: 'told', ...at, operation: 'pull', answer, count: to.length } as const
  const ids = Array.from({ length: 50 }, () => buffer.add({ event: told, to }))
  expect(buffer.since(ids[40]!, { of: 'all' })).toBeUndefined()
  expect(buffer.since(ids[48]!, { of: 'all' })).toHaveLength(1)
})
