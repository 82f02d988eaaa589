import type { ResourceStatus } from '@baton-lock/client/api'
import { describe, expect, test } from 'vitest'
import { widthOf } from '../print/layout.ts'
import { type Paint, plain } from '../print/say.ts'
import { drawPicture, type Picture } from './table.ts'

const nowMs = 1_700_000_000_000

const grant = {
  operation: 'pull',
  node: 'node-a',
  owner: 'o',
  fence: 12,
  sinceMs: nowMs - 42_000,
  attempt: 1,
  claimed: true,
  holds: 1,
  expiresAtMs: nowMs + 24_000,
}

function held(resource: string, more: Partial<ResourceStatus> = {}): ResourceStatus {
  const lists = { references: [], kept: [], recent: [], pauses: [], queues: [], waiters: [] }
  return { namespace: 'default', resource, fence: 12, grants: [grant], waiting: 0, ...lists, nowMs, ...more }
}

const reason = { why: 'held', operation: 'pull', node: 'node-a', fence: 12, forMs: 42_000 } as const

/** Held by one node, and waited for by two since then. */
function waitedFor(resource: string, waitMs: number, more: Partial<ResourceStatus> = {}): ResourceStatus {
  const waiter = { operation: 'pull', node: 'node-b', owner: 'p', sinceMs: nowMs - waitMs }
  return held(resource, {
    waiters: [waiter, { ...waiter, node: 'node-c' }],
    waiting: 2,
    queues: [{ operation: 'pull', waiting: 2 }],
    why: [{ operation: 'pull', waiting: 2, reasons: [reason] }],
    ...more,
  })
}

const stuck = (resource: string) =>
  waitedFor(resource, 1_000, { why: [{ operation: 'pull', waiting: 2, reasons: [{ ...reason, usualMs: 8_000 }] }] })

const pictureOf = (statuses: readonly ResourceStatus[], more: Partial<Picture> = {}): Picture => ({
  ...{ place: 'http://127.0.0.1:8086', namespace: undefined, statuses, isSingle: false, trouble: undefined },
  ...more,
})

function drawn(picture: Picture, size = { columns: 80, rows: 24 }, paint: Paint = plain): string[] {
  return drawPicture(picture, size, paint)
}

describe('the table', () => {
  test('has what needs attention first, then who waits longest, then what is held longest', () => {
    const paused = held('paused', {
      namespace: 'team',
      grants: [],
      pauses: [{ operation: 'compile', untilMs: nowMs + 4_000, attempt: 3 }],
    })
    const unclaimed = held('handed', { grants: [{ ...grant, claimed: false, sinceMs: nowMs - 500 }] })
    const other = held('sha256:0123456789abcdef0123456789')
    const lines = drawn(
      pictureOf([unclaimed, paused, waitedFor('line', 3_000), waitedFor('long', 9_000), stuck('bad'), other]),
    )
    expect(lines.join('\n')).toBe(
      `
http://127.0.0.1:8086  5 held  6 waiting  1 stuck

  RESOURCE                   OPERATION   HOLDER             HELD WAITING LONGEST
! bad                        pull        node-a              42s       2    1.0s
      held by node-a for 42s, usually 8.0s
  long                       pull        node-a              42s       2    9.0s
  line                       pull        node-a              42s       2    3.0s
  sha256:0123456789…23456789 pull        node-a              42s
  handed                     pull        (node-a)          500ms
  team/paused                compile     paused`.slice(1),
    )
  })

  test('a row for each operation of a resource; what holds up another operation is said', () => {
    const both = waitedFor('both', 2_000, {
      queues: [{ operation: 'delete', waiting: 2 }],
      waiters: [],
      why: [{ operation: 'delete', waiting: 2, reasons: [reason] }],
    })
    const rows = drawn(pictureOf([both])).slice(3)
    expect(rows.map((row) => row.trim().replaceAll(/ +/g, ' '))).toEqual([
      'both pull node-a 42s',
      'delete 2',
      'held by node-a (pull) for 42s',
    ])
  })

  test('more than the terminal has rows for: the first of them, and how many there are beyond', () => {
    const statuses = Array.from({ length: 10_000 }, (_, index) => waitedFor(`r${index}`, 20_000 - index))
    const lines = drawn(pictureOf(statuses))
    expect(lines).toHaveLength(24)
    expect(lines[3]).toContain('r0 ')
    expect(lines.at(-1)).toBe('… and 9,980 more')
    expect(drawn(pictureOf(statuses.slice(0, 21))).at(-1)).toContain('r20 ')
  })

  test('says so if there is nothing, and what is wrong', () => {
    const lines = drawn(pictureOf([], { trouble: 'no answer for 12s: no answer\nfrom x', namespace: 'team' }))
    expect(lines).toEqual([
      'http://127.0.0.1:8086  namespace team  0 held  0 waiting  0 stuck',
      'no answer for 12s: no answer from x',
      'nobody holds or waits for anything',
    ])
  })

  test('colours follow the layout', () => {
    const marking: Paint = (colour, text) => `<${colour}>${text}`
    const lines = drawn(pictureOf([held('quiet'), waitedFor('line', 1), stuck('bad')]), undefined, marking)
    expect(lines.slice(3).map((line) => line.slice(0, 10))).toEqual([
      '<red>! bad',
      '<red>     ',
      '<yellow>  ',
      '  quiet   ',
    ])
  })
})

test('one resource: its heading, holders, queue and reasons', () => {
  const lines = drawn(pictureOf([waitedFor('line', 3_000)], { isSingle: true }))
  expect(lines).toEqual([
    'http://127.0.0.1:8086',
    '',
    'line',
    '  holds       pull  node-a  for 42s   fence 12, lease 24s',
    '  waits       pull  node-b  for 3.0s  1st',
    '              pull  node-c  for 3.0s  2nd',
    '  why         pull: held by node-a for 42s',
  ])
})

test('nothing is wider or higher than the terminal, and nothing that others wrote is obeyed', () => {
  const odd = waitedFor('r\u202e\u001b[31m', 1_000, {
    namespace: 'n\u2066',
    grants: [{ ...grant, node: '節点節点節点節点節点節点', operation: 'o\u0007' }],
  })
  for (const isSingle of [true, false]) {
    for (const columns of [1, 10, 37, 59, 60, 80, 200]) {
      for (const rows of [1, 3, 6, 24]) {
        const lines = drawn(pictureOf([odd, waitedFor('x'.repeat(300), 5), stuck('y')], { isSingle }), {
          columns,
          rows,
        })
        expect(lines.length).toBeLessThanOrEqual(rows)
        for (const line of lines) {
          expect(widthOf(line)).toBeLessThanOrEqual(columns)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be there.
          expect(line).not.toMatch(/[\u0000-\u001f\u202e\u2066]/)
        }
      }
    }
  }
})
