import { describe, expect, test } from 'vitest'
import type { ResourceView } from '../../core/index.ts'
import { paintFor } from './paint.ts'
import { renderResource, renderResources } from './resource-view.ts'

const nowMs = 1_000_000_000

const idle: ResourceView = {
  namespace: 'default',
  resource: 'sha256:abc',
  fence: 0,
  grants: [],
  waiters: [],
  waiting: 0,
  references: [],
  kept: [],
  recent: [],
}

const grant = {
  operation: 'pull',
  node: 'node-a',
  owner: 'o',
  fence: 12,
  sinceMs: nowMs - 3_200,
  attempt: 1,
  claimed: true,
  holds: 1,
}

const waiter = { operation: 'pull', node: 'node-b', owner: 'p', sinceMs: nowMs - 900 }

describe('a resource for people', () => {
  test('says who holds, who waits, who uses it and what is kept, aligned', () => {
    const text = renderResource(
      {
        ...idle,
        grants: [{ ...grant, attempt: 2, progress: { done: 0.5 } }],
        waiters: [waiter, { ...waiter, operation: 'update', node: 'a-long-name', revision: 'v2' }],
        waiting: 2,
        references: ['node-c', 'node-d'],
        kept: [{ operation: 'pull', node: 'node-c', fence: 9, atMs: nowMs - 120_000, untilMs: nowMs + 3_480_000 }],
        recent: [
          {
            operation: 'pull',
            node: 'node-c',
            fence: 9,
            atMs: nowMs - 120_000,
            outcome: { outcome: 'success' },
          },
          {
            operation: 'update',
            node: 'node-d',
            fence: 11,
            atMs: nowMs - 12_000,
            outcome: { outcome: 'failure', error: 'exit code 1' },
          },
        ],
      },
      nowMs,
    )
    expect(text).toBe(`sha256:abc
  holds       pull    node-a       for 3.2s   fence 12, attempt 2, {"done":0.5}
  waits       pull    node-b       for 900ms
              update  a-long-name  for 900ms  revision v2
  kept        pull    node-c       2m ago     fence 9, for 58m more
  ended       update  node-d       12s ago    fence 11, failure: exit code 1
  references  2: node-c, node-d
`)
  })

  test('an idle one says so', () => expect(renderResource(idle, nowMs)).toBe('sha256:abc\n  idle\n'))

  test('a namespace other than the default is named', () => {
    expect(renderResource({ ...idle, namespace: 'build' }, nowMs)).toContain('sha256:abc  (namespace build)')
  })

  test('a grant that was not claimed yet is marked', () => {
    expect(renderResource({ ...idle, grants: [{ ...grant, claimed: false }] }, nowMs)).toContain('not yet claimed')
  })

  test('a long line shows its head and a count', () => {
    const text = renderResource({ ...idle, waiters: Array(40).fill(waiter), waiting: 5_000 }, nowMs)
    expect(text.match(/node-b/g)).toHaveLength(10)
    expect(text).toContain('and 4990 more')
  })

  test('an error of a stranger cannot move the cursor', () => {
    const outcome = { outcome: 'failure', error: 'bad\u001b[2J\nfoo', permanent: true } as const
    const text = renderResource({ ...idle, recent: [{ ...grant, atMs: nowMs, outcome }] }, nowMs)
    expect(text).toContain('permanent failure: bad [2J foo')
  })

  test('a clock that is behind the server shows no negative ages', () => {
    expect(renderResource({ ...idle, grants: [{ ...grant, sinceMs: nowMs + 50 }] }, nowMs)).toContain('for 0ms')
  })

  test('nothing at all is said in words, several stand apart', () => {
    expect(renderResources([], nowMs)).toBe('nothing is held, waited for, referenced or kept\n')
    expect(renderResources([idle, idle], nowMs)).toBe('sha256:abc\n  idle\n\nsha256:abc\n  idle\n')
  })
})

describe('colours', () => {
  test('are for terminals whose user wants them', () => {
    expect(paintFor({ isTTY: true }, {})('red', 'x')).toBe('\u001b[31mx\u001b[0m')
    expect(paintFor({ isTTY: true }, { NO_COLOR: '1' })('red', 'x')).toBe('x')
    expect(paintFor({ isTTY: true }, { TERM: 'dumb' })('red', 'x')).toBe('x')
    expect(paintFor({ isTTY: false }, {})('red', 'x')).toBe('x')
  })
})
