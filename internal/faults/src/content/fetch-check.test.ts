import { describe, expect, test } from 'vitest'
import { checkFetches, EXCUSES, type FetchLog, type SeenCopy, type SeenGet } from './fetch-check.ts'
import type { ContentFault } from './soak-log.ts'

const digest = `sha256:${'a'.repeat(64)}`
const SIZE = 1_000

/** A GET at this time, in one go. */
function get(node: string, atMs: number, more: Partial<SeenGet> = {}): SeenGet {
  const bytes = SIZE - (more.startByte ?? 0)
  return { node, digest, startByte: 0, bytes, afterMs: atMs - 25, byMs: atMs, lastByteMs: atMs + 25, ...more }
}

function copy(node: string, sinceMs: number, untilMs = 1e6): SeenCopy {
  return { node, digest, sinceMs, untilMs }
}

function fault(kind: ContentFault['kind'], [fromMs, toMs]: [number, number], node?: string): ContentFault {
  return { kind, fromMs, toMs, ...(node !== undefined && { node }) }
}

function verdictOf(log: Partial<FetchLog>) {
  const { violations, excused } = checkFetches({ gets: [], copies: [], faults: [], calls: [], ...log })
  const counted = Object.entries(excused).filter(([, count]) => count > 0)
  return { violations: violations.map(({ what }) => what), excused: Object.fromEntries(counted) }
}

const clean = { violations: [], excused: {} }
const excusedBy = (reason: string, count = 1) => ({ violations: [], excused: { [reason]: count } })

describe('a blob that is there', () => {
  test('is fetched once, and again when it was removed in between', () => {
    const gets = [get('a', 1_000), get('b', 9_000)]
    expect(verdictOf({ gets, copies: [copy('a', 2_000, 7_000), copy('b', 10_000)] })).toEqual(clean)
  })

  test('is not to be fetched by another node, nor by the one that has it', () => {
    const gets = [get('a', 1_000), get('b', 9_000), get('a', 9_500)]
    expect(verdictOf({ gets, copies: [copy('a', 2_000)] }).violations).toEqual([
      'at 9.0 s: b fetched it although a had it for 7.0 s',
      'at 9.5 s: a fetched it although a had it for 7.5 s',
    ])
  })

  test('may vanish while it is asked for', () => {
    expect(verdictOf({ gets: [get('b', 9_000)], copies: [copy('a', 2_000, 8_999)] })).toEqual(clean)
  })

  test('of another name does not count', () => {
    const other = { ...copy('a', 2_000), digest: `sha256:${'b'.repeat(64)}` }
    expect(verdictOf({ gets: [get('b', 9_000)], copies: [other] })).toEqual(clean)
  })

  test('a fault of something else excuses nothing', () => {
    const faults = (['kill', 'union', 'cut', 'corrupt', 'throttle'] as const).map((kind) =>
      fault(kind, [0, 20_000], 'b'),
    )
    expect(verdictOf({ gets: [get('b', 9_000)], copies: [copy('a', 2_000)], faults }).violations).toHaveLength(1)
  })
})

describe('without a lock server', () => {
  const log = { gets: [get('b', 9_000)], copies: [copy('a', 2_000)] }

  test.each([[[8_000, 12_000]], [[1_000, 4_000]]] as [[number, number]][])(
    'it may be fetched again, and for some seconds after it: %j',
    (away) => {
      expect(verdictOf({ ...log, faults: [fault('outage', away)] })).toEqual(excusedBy(EXCUSES.outage))
    },
  )

  test('a node that is stopped learns only when it goes on that the server is back', () => {
    const gets = [get('b', 45_000)]
    const outage = fault('outage', [10_000, 30_000])
    const stopped = (during: [number, number], node = 'b') => [outage, fault('stop', during, node)]
    expect(verdictOf({ ...log, gets, faults: stopped([29_000, 43_000]) })).toEqual(excusedBy(EXCUSES.unaware))
    expect(verdictOf({ ...log, gets, faults: stopped([29_000, 35_000]) }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, gets, faults: stopped([12_000, 29_000]) }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, gets, faults: stopped([29_000, 43_000], 'c') }).violations).toHaveLength(1)
  })

  test('an outage later, or long before, excuses nothing', () => {
    const gets = [get('b', 29_000)]
    const faults = [fault('outage', [1_000, 12_000]), fault('outage', [30_000, 40_000])]
    expect(verdictOf({ ...log, gets, faults }).violations).toHaveLength(1)
  })
})

describe('a GET that goes on where one was cut', () => {
  const first = get('b', 5_000, { bytes: 400, lastByteMs: 6_000 })
  const second = get('b', 6_100, { startByte: 400 })
  const calls = [{ node: 'b', fromMs: 4_000, toMs: 8_000 }]
  const copies = [copy('a', 5_500)]

  test('is excused where the first one was good', () => {
    expect(verdictOf({ gets: [first, second], copies, calls })).toEqual(excusedBy(EXCUSES.resumed))
  })

  test('is excused as the first one was', () => {
    const faults = [fault('outage', [4_900, 4_950])]
    const copies = [copy('a', 1_000)]
    expect(verdictOf({ gets: [first, second], copies, calls, faults })).toEqual(excusedBy(EXCUSES.outage, 2))
    const late = get('b', 14_500, { startByte: 400 })
    const slow = { ...first, lastByteMs: 14_000 }
    expect(verdictOf({ gets: [slow, late], copies, calls: [{ node: 'b', fromMs: 0, toMs: 2e4 }], faults })).toEqual({
      violations: [],
      excused: { [EXCUSES.outage]: 1, [EXCUSES.resumed]: 1 },
    })
  })

  test('is not where the first one was wrong', () => {
    expect(verdictOf({ gets: [first, second], copies: [copy('a', 1_000)], calls }).violations).toHaveLength(2)
  })

  test.each([
    ['by another call', { calls: [{ node: 'b', fromMs: 4_000, toMs: 6_050 }] }],
    ['by a content store that was killed', { faults: [fault('kill', [6_010, 6_050], 'b')] }],
    ['much later', { gets: [{ ...first, lastByteMs: 500 }, second] }],
    ['on another node', { gets: [{ ...first, node: 'c' }, second] }],
    ['at another place', { gets: [first, get('b', 6_100, { startByte: 600 })] }],
    ['from the beginning', { gets: [first, get('b', 6_100)] }],
  ])('is not %s', (_, change) => {
    const log = { gets: [first, second], copies, calls, ...change }
    expect(verdictOf(log).violations).toHaveLength(1)
  })
})

describe('a lease that was lost', () => {
  test('who had its turn when it was stopped goes on with it', () => {
    const faults = [fault('stop', [2_000, 14_000], 'b')]
    const log = { gets: [get('b', 14_500)], copies: [copy('a', 13_000)], faults }
    expect(verdictOf(log)).toEqual(excusedBy(EXCUSES.stopped))
    expect(verdictOf({ ...log, copies: [copy('a', 1_000)] }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, gets: [get('b', 25_000)] }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, faults: [fault('stop', [12_000, 14_000], 'b')] }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, faults: [fault('stop', [2_000, 14_000], 'c')] }).violations).toHaveLength(1)
  })

  test('who was stopped publishes beside its successor, which has looked before', () => {
    const faults = [fault('stop', [2_000, 14_000], 'a')]
    const log = { gets: [get('a', 1_500), get('b', 16_000)], copies: [copy('a', 15_000)], faults }
    expect(verdictOf(log)).toEqual(excusedBy(EXCUSES.late))
    expect(verdictOf({ ...log, copies: [copy('a', 12_000)] }).violations).toHaveLength(1)
    expect(verdictOf({ ...log, faults: [] }).violations).toHaveLength(1)
  })
})

describe('a blob that is being fetched', () => {
  const slow = get('a', 1_000, { lastByteMs: 9_000 })
  const gets = [slow, get('b', 4_000)]

  test('is not fetched by another meanwhile', () => {
    expect(verdictOf({ gets }).violations).toEqual(['at 4.0 s: b fetched it while a was fetching it'])
  })

  test('is, where the first one has given up, is stopped, or no lock server answers', () => {
    const cases: [string, Partial<FetchLog>][] = [
      [EXCUSES.gaveUp, { faults: [fault('kill', [2_000, 3_000], 'a')] }],
      [EXCUSES.gaveUp, { calls: [{ node: 'a', fromMs: 500, toMs: 3_000 }] }],
      [EXCUSES.outage, { faults: [fault('outage', [3_000, 3_500])] }],
    ]
    for (const [reason, log] of cases) expect(verdictOf({ gets, ...log })).toEqual(excusedBy(reason))
    const late = [{ ...slow, lastByteMs: 20_000 }, get('b', 15_000)]
    expect(verdictOf({ gets: late, faults: [fault('stop', [2_000, 14_000], 'a')] })).toEqual(excusedBy(EXCUSES.stopped))
  })

  test('may be, when the first one is done', () => {
    expect(verdictOf({ gets: [get('a', 1_000), get('b', 4_000)] })).toEqual(clean)
  })
})
