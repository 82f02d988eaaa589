import { describe, expect, test } from 'vitest'
import type { ResourceStatus } from '../../client/api.ts'
import type { Overview, PastGrant } from '../../protocol/index.ts'
import { type Paint, plain } from '../print/paint.ts'
import { drawScreen, type Picture } from './screen.ts'
import { widthOf } from './text-width.ts'
import { beginning, type Ui } from './ui.ts'
import { nameOf, WatchedResources } from './watched.ts'

const nowMs = 1_700_000_000_000
const size = { columns: 80, rows: 24 }

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
  renewedAtMs: nowMs - 6_000,
}

/** One that holds and so many who wait since then. */
function statusOf(resource: string, more: Partial<ResourceStatus> = {}): ResourceStatus {
  const lists = { references: [], kept: [], recent: [], pauses: [], queues: [], waiters: [] }
  return { namespace: 'default', resource, fence: 12, grants: [grant], waiting: 0, ...lists, nowMs, ...more }
}

function waitedFor(resource: string, waitMs: number, more: Partial<ResourceStatus> = {}): ResourceStatus {
  const waiter = { operation: 'pull', node: 'node-b', owner: 'p', sinceMs: nowMs - waitMs }
  const held = { why: 'held', operation: 'pull', node: 'node-a', fence: 12, forMs: 42_000, usualMs: 20_000 } as const
  return statusOf(resource, {
    waiters: [waiter, { ...waiter, node: 'node-c' }],
    waiting: 2,
    queues: [{ operation: 'pull', waiting: 2 }],
    why: [{ operation: 'pull', waiting: 2, reasons: [held] }],
    ...more,
  })
}

const overview: Overview = {
  nowMs,
  sinceMs: nowMs - 3_600_000,
  version: '1.2.3',
  storeId: '3f2a1c00-aaaa',
  counts: { resources: 1_204, grants: 38, waiters: 112, sessions: 14 },
  totals: { grants: 5_000, handOvers: 100, skips: 40, successes: 4_000, failures: 3, expired: 0 },
  stepMs: 5_000,
  points: Array.from({ length: 12 }, (_, index) => ({
    atMs: nowMs - 60_000 + index * 5_000,
    grants: 60,
    handOvers: 5,
    skips: 10,
    successes: 50,
    failures: 1,
    expired: 0,
    waiting: 3,
    waitedMs: { p50: 20, p95: 900, p99: 1_200 },
  })),
}

function pictureOf(statuses: readonly ResourceStatus[], more: Partial<Picture> = {}): Picture {
  const resources = new WatchedResources()
  for (const status of statuses) resources.put(status, 0)
  resources.dropUnread(0)
  const server = { place: 'http://127.0.0.1:8086', namespace: undefined, overview, away: undefined }
  return {
    server,
    resources: resources.inOrder(),
    opened: undefined,
    timeline: undefined,
    isRead: true,
    nowMs,
    monoMs: 10_000,
    ...more,
  }
}

const drawn = (picture: Picture, ui: Partial<Ui> = {}, paint: Paint = plain, at = size) =>
  drawScreen(picture, { ...beginning, ...ui }, at, paint)

describe('the list', () => {
  test('has a heading, what somebody should look at first, and the keys', () => {
    const silent = { why: 'silent', node: 'node-a', forMs: 20_000, expiresInMs: 10_000 } as const
    const [held] = waitedFor('x', 0).why!
    const stuck = waitedFor('stuck', 1_000, { why: [{ ...held!, reasons: [...held!.reasons, silent] }] })
    const paused = statusOf('paused', {
      namespace: 'team',
      grants: [],
      pauses: [{ operation: 'compile', untilMs: nowMs + 4_000, attempt: 3 }],
    })
    const unclaimed = statusOf('handed', { grants: [{ ...grant, claimed: false, claimByMs: nowMs + 4_100 }] })
    const { lines } = drawn(
      pictureOf([unclaimed, paused, waitedFor('line', 3_000), stuck, statusOf('sha256:0123456789abcdef0123456789')]),
    )
    expect(lines).toHaveLength(24)
    expect(lines.join('\n').trimEnd()).toBe(
      `
baton 1.2.3  http://127.0.0.1:8086  store 3f2a1c00                          live
1,204 resources  38 held  112 waiting  14 sessions  up 1h
12.0 grants/s  1.0 hand-overs/s  2.0 skips/s  0.2 failures/s
  RESOURCE            OPERATION HOLDER      HELD (USUAL)     LEASE  LINE   WAITS
>!stuck               pull      node-a      42s (20s)          24s     2    1.0s
      held by node-a for 42s, usually 20s; node-a has not renewed for 20s, its …
  line                pull      node-a      42s (20s)          24s     2    3.0s
  team/paused         compile   paused      4.0s more
  handed              pull      (node-a)    claims 4.1s
  sha256:01234…456789 pull      node-a      42s                24s
${'\n'.repeat(12)}
5                                      ↑↓ Enter  / filter  a all  ? help  q quit`.slice(1),
    )
  })

  test('ages go on by themselves, also in why', () => {
    const paused = { why: 'paused', operation: 'pull', forMs: 9_000, attempt: 2 } as const
    const status = waitedFor('line', 3_000, { why: [{ operation: 'pull', waiting: 2, reasons: [paused] }] })
    const later = drawn(pictureOf([status], { nowMs: nowMs + 5_000 })).lines
    expect(later[4]).toMatch(/47s +19s +2 +8\.0s$/)
    expect(later[5]).toContain('attempt 2 begins in 4.0s')
  })

  test('what has just changed is marked for two seconds', () => {
    const resources = new WatchedResources()
    resources.put(statusOf('a'), 0)
    resources.dropUnread(0)
    resources.put(statusOf('a', { grants: [{ ...grant, fence: 13 }] }), 5_000)
    resources.put(statusOf('b'), 5_000)
    const at = (monoMs: number) =>
      drawn(pictureOf([], { resources: resources.inOrder(), monoMs }))
        .lines.slice(4, 6)
        .map((each) => each.slice(0, 3))
    expect(at(6_999)).toEqual(['>*a', ' *b'])
    expect(at(7_001)).toEqual(['> a', '  b'])
    // What goes on without anybody's doing is no change.
    resources.put(statusOf('b', { grants: [{ ...grant, expiresAtMs: nowMs + 99_000, progress: 1 }] }), 9_000)
    expect(at(9_001)).toEqual(['> a', '  b'])
  })

  test('who waits longest comes first, whatever was read when', () => {
    const names = ['short', 'long', 'middle']
    const statuses = [waitedFor('short', 1_000), waitedFor('long', 60_000), waitedFor('middle', 5_000)]
    expect(drawn(pictureOf(statuses)).names.map((name) => name.split('\n')[1])).toEqual(['long', 'middle', 'short'])
    expect(drawn(pictureOf([...statuses].reverse())).names).toHaveLength(names.length)
  })

  test('shows what has a text in its name, its nodes or its operations', () => {
    const statuses = [
      waitedFor('one', 1_000),
      statusOf('two', { grants: [{ ...grant, node: 'Other' }] }),
      statusOf('three'),
    ]
    const found = (filter: string) => drawn(pictureOf(statuses), { filter }).names.map((name) => name.split('\n')[1])
    expect(found('TW')).toEqual(['two'])
    expect(found('node-c')).toEqual(['one'])
    expect(found('other')).toEqual(['two'])
    expect(found('pull')).toHaveLength(3)
    const none = drawn(pictureOf(statuses), { filter: 'ab\u001b[2J' }).lines
    expect(none[4]).toBe("nothing has 'ab [2J' in it")
    expect(none.at(-1)).toContain("0 of 3  filter 'ab [2J'")
  })

  test('ten thousand are shown a screen at a time, around the one that is selected', () => {
    const statuses = Array.from({ length: 10_000 }, (_, index) => waitedFor(`r${index}`, 20_000 - index))
    const picture = pictureOf(statuses)
    const first = drawn(picture)
    expect(first.visible).toHaveLength(19)
    expect(first.lines.at(-1)).toMatch(/^10,000, 1 to 19 /)
    const selected = nameOf({ namespace: 'default', resource: 'r5000' })
    const far = drawn(picture, { selected })
    expect(far.visible.at(-1)).toBe(selected)
    expect(far.lines.find((each) => each.startsWith('>'))).toContain('r5000')
    // One more is seen without a move of the others.
    const next = drawn(picture, { ...far.ui, selected: nameOf({ namespace: 'default', resource: 'r4990' }) })
    expect(next.visible).toEqual(far.visible)
    // The one that is gone leaves its place to the next.
    const gone = drawn(picture, { ...far.ui, selected: 'gone' })
    expect(gone.lines.find((each) => each.startsWith('>'))).toContain('r5000')
  })

  test('nothing that others wrote is obeyed, and nothing is wider than the terminal', () => {
    const odd = waitedFor('r\u202e\u001b[31m', 1_000, {
      namespace: 'n\u2066',
      grants: [{ ...grant, node: '節点節点節点節点節点節点', operation: 'o\u0007' }],
    })
    for (const columns of [1, 10, 37, 40, 60, 80, 200]) {
      for (const rows of [1, 3, 6, 24]) {
        const { lines } = drawn(pictureOf([odd, odd, waitedFor('x'.repeat(300), 5)]), {}, plain, { columns, rows })
        expect(lines).toHaveLength(rows)
        for (const each of lines) {
          expect(widthOf(each)).toBeLessThanOrEqual(columns)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be there.
          expect(each).not.toMatch(/[\u0000-\u001f\u202e\u2066]/)
        }
      }
    }
  })

  test('a narrow terminal does without leases, then without how long something is held', () => {
    const headingAt = (columns: number) => drawn(pictureOf([]), {}, plain, { columns, rows: 24 }).lines[3]
    expect(headingAt(80)).toMatch(/HELD \(USUAL\) +LEASE +LINE +WAITS$/)
    expect(headingAt(70)).toMatch(/HELD \(USUAL\) +LINE +WAITS$/)
    expect(headingAt(50)).toMatch(/HOLDER +LINE +WAITS$/)
  })

  test('says so where there is nothing, or nothing yet', () => {
    expect(drawn(pictureOf([])).lines[4]).toBe('nobody holds or waits for anything')
    expect(drawn(pictureOf([]), { showsQuiet: true }).lines[4]).toBe('nothing is held, waited for, referenced or kept')
    expect(drawn(pictureOf([], { isRead: false })).lines[4]).toBe('reading …')
    const kept = { operation: 'once', node: 'a', fence: 1, atMs: nowMs, untilMs: nowMs + 1 }
    const quiet = [statusOf('k', { grants: [], kept: [kept] }), statusOf('r', { grants: [], references: ['a'] })]
    const { lines } = drawn(pictureOf(quiet), { showsQuiet: true })
    expect(lines[4]).toContain('kept: once')
    expect(lines[5]).toContain('1 reference')
  })

  test('says who does not answer, for how long and why', () => {
    const { server } = pictureOf([])
    const away = drawn(
      pictureOf([], { server: { ...server, away: { forMs: 12_000, why: 'no answer\nfrom x' } } }),
    ).lines
    expect(away[0]).toMatch(/no answer for 12s$/)
    expect(away[1]).toBe('no answer from x')
    const told = drawn(pictureOf([], { server: { ...server, notice: 'leaving a for b' } })).lines
    expect(told.slice(0, 2)).toEqual([expect.stringMatching(/live$/), 'leaving a for b'])
    const unknown = drawn(pictureOf([], { server: { ...server, overview: undefined, namespace: 'team' } })).lines
    expect(unknown[0]).toMatch(/^baton {2}http:\/\/127.0.0.1:8086 {2}namespace team +live$/)
  })

  test('colours are put on where everything has its place, and none where none are wanted', () => {
    const marking: Paint = (colour, text) => `<${colour}>${text}</>`
    const { lines } = drawn(pictureOf([waitedFor('line', 3_000)]), {}, marking)
    expect(lines[4]).toMatch(
      /^> <inverse>line +<\/> pull +<green>node-a +<\/> 42s \(20s\) +24s <yellow> +2<\/> <yellow> +3\.0s<\/>$/,
    )
  })
})

describe('one resource', () => {
  const opened = nameOf({ namespace: 'default', resource: 'line' })
  const picture = (status: ResourceStatus, grants: readonly PastGrant[] = []) => {
    const all = pictureOf([status])
    return { ...all, opened: all.resources[0], timeline: { nowMs, grants } }
  }
  test('has its line with places, why, and its last grants', () => {
    const last = { operation: 'pull', node: 'node-a', owner: 'o', fence: 12, attempt: 1, handOver: false, skips: 0 }
    const grants = [{ ...last, grantedAtMs: nowMs - 42_000 }]
    const { lines } = drawn(picture(waitedFor('line', 3_000), grants), { screen: 'resource', opened })
    expect(lines.slice(3, 13)).toEqual([
      '',
      'line',
      '  holds       pull  node-a  for 42s   fence 12, lease 24s',
      '  waits       pull  node-b  for 3.0s  1st',
      '              pull  node-c  for 3.0s  2nd',
      '  why         pull: held by node-a for 42s, usually 20s',
      '',
      '  last grants',
      expect.stringMatching(/^ +-42s +now$/),
      expect.stringMatching(/^ +12 pull +node-a +█{21} +42s holds it$/),
    ])
    expect(lines.at(-1)).toBe('↑↓ scroll  Escape back  ? help  q quit')
  })

  test('scrolls through a long line, and no farther than to its end', () => {
    const waiter = { operation: 'pull', node: 'node-b', owner: 'p', sinceMs: nowMs }
    const status = waitedFor('line', 0, { waiters: Array(60).fill(waiter), waiting: 5_000 })
    const bottom = drawn(picture(status), { screen: 'resource', opened, scroll: 1e9 })
    expect(bottom.lines.join('\n')).toContain('60th')
    expect(bottom.lines.join('\n')).toContain('and 4940 more')
    expect(bottom.ui.scroll).toBeLessThan(70)
    expect(bottom.visible).toEqual([opened])
  })

  test('one of which there is nothing says so, and one that was not read yet too', () => {
    const none = pictureOf([])
    expect(drawn(none, { screen: 'resource', opened }).lines[5]).toMatch(/^nobody holds it/)
    expect(drawn({ ...none, isRead: false }, { screen: 'resource', opened }).lines[5]).toBe('reading …')
  })

  test('help names every key and sign, within 80 columns', () => {
    const { lines } = drawn(pictureOf([]), { screen: 'help' })
    expect(lines.join('\n')).toContain('q Ctrl-C')
    for (const each of lines) expect(each).not.toContain('…')
    expect(drawn(pictureOf([]), { screen: 'help', isAlone: true }).lines.join('\n')).not.toContain('  Enter ')
  })
})
