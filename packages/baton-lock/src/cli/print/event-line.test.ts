import type { WireEvent } from '@baton-lock/protocol'
import { expect, test } from 'vitest'
import { renderEvent } from './event-line.ts'

const onKey = {
  namespace: 'default',
  resource: 'sha256:abc',
  operation: 'pull',
  atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
}
const by = { ...onKey, node: 'node-a', owner: 'o' }
const skip = { status: 'skip', fence: 7, by: 'node-b' } as const

test.each<[WireEvent, string]>([
  [{ type: 'queued', position: 3, ...by }, 'node-a waits, place 3'],
  [{ type: 'granted', fence: 7, attempt: 1, handOver: false, ...by }, 'node-a has the baton (fence 7)'],
  [{ type: 'granted', fence: 8, attempt: 2, handOver: true, ...by }, 'node-a is handed the baton (fence 8, attempt 2)'],
  [{ type: 'told', answer: skip, count: 4, askers: [], ...onKey }, '4 who waited: skip, node-b did it (fence 7)'],
  [
    { type: 'ended', fence: 7, attempt: 1, heldMs: 1, outcome: { outcome: 'failure', error: 'exit code 1' }, ...by },
    'node-a ended: failure: exit code 1 (fence 7)',
  ],
])('%o is a line', (event, text) => expect(renderEvent(event)).toBe(`03:04:05.678  pull sha256:abc  ${text}`))

test('names and progress of others do nothing to a terminal', () => {
  const event = { type: 'progress', fence: 7, progress: '\u009b2J\u202e', ...by } as const
  expect(renderEvent({ ...event, node: 'n\u202em', resource: 'r\u2066\u200e' } as WireEvent)).toBe(
    '03:04:05.678  pull r\\u2066\\u200e  n\\u202em says "\\u009b2J\\u202e"',
  )
})

test('what only begins a stream is no line', () => {
  expect(renderEvent({ type: 'state', of: 'all' })).toBeUndefined()
})

test('a lock that ends was released, whatever became of the work', () => {
  const event = {
    type: 'ended',
    fence: 7,
    attempt: 1,
    heldMs: 1,
    outcome: { outcome: 'success' },
    ...by,
    operation: 'lock',
  } as const
  expect(renderEvent(event)).toBe('03:04:05.678  lock sha256:abc  node-a ended: released (fence 7)')
})
