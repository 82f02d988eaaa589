import type { Json, ResourceView } from '@baton-lock/core'
import { describe, expect, test } from 'vitest'
import { ordinal, renderResource, renderResources } from './resource-view.ts'
import { paintFor } from './say.ts'

const nowMs = 1_000_000_000

const idle: ResourceView = {
  namespace: 'default',
  resource: 'sha256:abc',
  fence: 0,
  grants: [],
  waiters: [],
  waiting: 0,
  queues: [],
  references: [],
  kept: [],
  recent: [],
  pauses: [],
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
  waits       pull    node-b       for 900ms  1st
              update  a-long-name  for 900ms  1st, revision v2
  kept        pull    node-c       2m ago     fence 9, for 58m more
  ended       update  node-d       12s ago    fence 11, failure: exit code 1
  references  2: node-c, node-d
`)
  })

  test('two processes with one name are told apart by pid and host', () => {
    const view = {
      ...idle,
      grants: [{ ...grant, node: 'web', owner: '4711@web/Qy3v.1' }],
      waiters: [
        { ...waiter, node: 'web', owner: '17@db-1/Xx9a.4' },
        { ...waiter, node: 'node-b', owner: '18@db-2/Zz.1' },
      ],
      waiting: 2,
    }
    expect(renderResource(view, nowMs)).toBe(`sha256:abc
  holds       pull  web (pid 4711)        for 3.2s   fence 12
  waits       pull  web (pid 17 on db-1)  for 900ms  1st
              pull  node-b                for 900ms  2nd
`)
  })

  test('an idle one says so', () =>
    expect(renderResource(idle, nowMs)).toBe('sha256:abc\n  idle in the namespace default\n'))

  test('a namespace other than the default is named', () => {
    expect(renderResource({ ...idle, namespace: 'build' }, nowMs)).toContain('sha256:abc  (namespace build)')
  })

  test('a grant that was not claimed yet is marked, and when it passes on', () => {
    const shown = (more: object) => renderResource({ ...idle, grants: [{ ...grant, ...more }] }, nowMs).trimEnd()
    expect(shown({ claimed: false })).toMatch(/fence 12, not yet claimed$/)
    expect(shown({ claimed: false, claimByMs: nowMs + 4_100, expiresAtMs: nowMs + 9_000 })).toMatch(
      /fence 12, not yet claimed, passes on in 4.1s$/,
    )
  })

  test('says how long a lease is good, and how long a queue is paused', () => {
    const text = renderResource(
      {
        ...idle,
        grants: [{ ...grant, expiresAtMs: nowMs + 24_000, renewedAtMs: nowMs - 6_000 }],
        pauses: [{ operation: 'update', untilMs: nowMs + 4_000, attempt: 3 }],
      },
      nowMs,
    )
    expect(text).toBe(`sha256:abc
  holds       pull    node-a  for 3.2s  fence 12, lease 24s
  paused      update          for 4.0s  then attempt 3
`)
  })

  test('says why a queue waits, beside the places in line, and nothing of one of which nothing is known', () => {
    const held = {
      why: 'held',
      operation: 'pull',
      node: 'no\u202ede',
      fence: 12,
      forMs: 42_000,
      usualMs: 8_000,
    } as const
    const text = renderResource(
      {
        ...idle,
        grants: [grant],
        waiters: [waiter, { ...waiter, operation: 'update' }, waiter, waiter],
        waiting: 4,
        why: [
          { operation: 'pull', waiting: 3, reasons: [held] },
          { operation: 'update', waiting: 1, reasons: [] },
        ],
        kept: [{ operation: 'once', node: 'node-c', fence: 9, atMs: nowMs - 120_000, untilMs: nowMs + 3_480_000 }],
      },
      nowMs,
    )
    expect(text).toBe(`sha256:abc
  holds       pull    node-a  for 3.2s   fence 12
  waits       pull    node-b  for 900ms  1st
              update  node-b  for 900ms  1st
              pull    node-b  for 900ms  2nd
              pull    node-b  for 900ms  3rd
  why         pull: held by no\\u202ede for 42s, usually 8.0s
  kept        once    node-c  2m ago     fence 9, for 58m more
`)
  })

  test('places are said as people say them', () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 1_003, 10_011].map(ordinal).join(' ')).toBe(
      '1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 1003rd 10011th',
    )
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

  test('nor can a name, a revision or a result', () => {
    const text = renderResource(
      {
        ...idle,
        namespace: 'n\u202e',
        resource: 'r\u2066',
        grants: [{ ...grant, node: 'a\u202eb', operation: 'o\u200f', revision: 'v\u009b2J', progress: '\u009b3J' }],
        references: ['c\u2069'],
      },
      nowMs,
    )
    expect(text).toBe(`r\\u2066  (namespace n\\u202e)
  holds       o\\u200f  a\\u202eb  for 3.2s  fence 12, revision v 2J, "\\u009b3J"
  references  1: c\\u2069
`)
  })

  const kept = { operation: 'once', node: 'node-a', fence: 3, atMs: nowMs - 5_000, untilMs: nowMs + 365 * 86_400_000 }

  test('a result that is kept is shown where it is short, cut with its size where it is long', () => {
    const shown = (result: Json) => renderResource({ ...idle, kept: [{ ...kept, result }] }, nowMs).trimEnd()
    expect(shown({ rows: 7 })).toMatch(/fence 3, for 365d more, \{"rows":7\}$/)
    expect(shown('x'.repeat(58))).toMatch(/"x{58}"$/)
    expect(shown('x'.repeat(100))).toMatch(/more, "x{59}… \(102 bytes\)$/)
    expect(shown('ä'.repeat(1_023))).toMatch(/more, "ä{59}… \(2 KiB\)$/)
    expect(shown('x'.repeat(262_142))).toMatch(/more, "x{59}… \(256 KiB\)$/)
    // Not half of a character either.
    expect(shown(`${'x'.repeat(58)}😀😀`)).toMatch(/x{58}\ufffd… \(68 bytes\)$/)
  })

  test('a result that was not told is said to be omitted', () => {
    const text = renderResource({ ...idle, kept: [{ ...kept, resultOmitted: true }] }, nowMs)
    expect(text).toContain('for 365d more, result omitted\n')
  })

  test('a progress is cut like a result', () => {
    const text = renderResource({ ...idle, grants: [{ ...grant, progress: 'x'.repeat(100) }] }, nowMs)
    expect(text).toContain(`fence 12, "${'x'.repeat(59)}… (102 bytes)\n`)
  })

  test('the end of a lock or of a leader says that it was released, not that its work succeeded', () => {
    const ended = { node: 'node-a', fence: 3, atMs: nowMs - 5_000, outcome: { outcome: 'success' } } as const
    const shown = (operation: string) => renderResource({ ...idle, recent: [{ ...ended, operation }] }, nowMs)
    expect(shown('lock')).toContain('ended       lock  node-a  5.0s ago  fence 3, released\n')
    expect(shown('lead')).toContain('fence 3, released\n')
    expect(shown('once')).toContain('fence 3, success\n')
    const outcome = { outcome: 'expired', error: 'the session has ended' } as const
    const died = renderResource({ ...idle, recent: [{ ...ended, operation: 'lock', outcome }] }, nowMs)
    expect(died).toContain('expired: the session has ended')
  })

  test('a clock that is behind the server shows no negative ages', () => {
    expect(renderResource({ ...idle, grants: [{ ...grant, sinceMs: nowMs + 50 }] }, nowMs)).toContain('for 0ms')
  })

  test('nothing at all is said in words, several stand apart', () => {
    const status = { ...idle, nowMs }
    expect(renderResources([])).toBe('nothing is held, waited for, referenced or kept\n')
    expect(renderResources([status, status])).toBe(
      'sha256:abc\n  idle in the namespace default\n\nsha256:abc\n  idle in the namespace default\n',
    )
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
