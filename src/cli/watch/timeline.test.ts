import { expect, test } from 'vitest'
import type { PastGrant } from '../../protocol/index.ts'
import { plain } from '../print/paint.ts'
import { painted } from './line.ts'
import { timelineLines } from './timeline.ts'

const nowMs = 1_700_000_000_000
const past = (fence: number, more: Partial<PastGrant>): PastGrant => ({
  operation: 'pull',
  node: 'node-a',
  owner: 'o',
  fence,
  attempt: 1,
  grantedAtMs: nowMs,
  handOver: false,
  skips: 0,
  ...more,
})
const shown = (...grants: PastGrant[]) => timelineLines(grants, nowMs, 80).map((each) => painted(each, 80, plain))

test('the last grants stand on one stretch of time, the newest first, each with its end', () => {
  const failed = {
    grantedAtMs: nowMs - 100_000,
    endedAtMs: nowMs - 80_000,
    outcome: 'failure',
    error: 'exit code 1',
  } as const
  const claimed = { grantedAtMs: nowMs - 80_000, claimedAtMs: nowMs - 60_000, endedAtMs: nowMs - 50_000 }
  const done = { ...claimed, outcome: 'success', skips: 3, node: 'node-with-a-long-name' } as const
  expect(shown(past(9, failed), past(10, done), past(12, { grantedAtMs: nowMs - 42_000, waitedMs: 8_000 }))).toEqual([
    '                             -1m 40s           now',
    '      12 pull     node-a                 █████████     42s holds it, waited 8.0s',
    '      10 pull     node-w…ame     ░░░░███               30s success, 3 skipped',
    '       9 pull     node-a     ████                      20s failure: exit code 1',
  ])
})

test('how it ended is said as everywhere; of what was not heard, that it has ended', () => {
  const ended = { grantedAtMs: nowMs - 9_000, endedAtMs: nowMs - 1_000 }
  const endOf = (more: Partial<PastGrant>) => shown(past(1, { ...ended, ...more }))[1]!.slice(59)
  expect(endOf({ outcome: 'success', operation: 'lock' })).toBe('released')
  expect(endOf({ outcome: 'expired', error: 'the session' })).toBe('expired: the session')
  expect(endOf({ outcome: 'revoked', error: 'x\u001b[2J' })).toBe('revoked: x [2J')
  expect(endOf({ outcome: 'cancelled' })).toBe('cancelled')
  expect(endOf({})).toBe('ended')
})

test('a grant that was short is seen all the same, and so is one of this very moment', () => {
  const bars = shown(past(1, { grantedAtMs: nowMs - 60_000, endedAtMs: nowMs - 59_999 }), past(2, {})).slice(1)
  expect(bars.map((each) => each.match(/█/g)?.length)).toEqual([1, 1])
  expect(shown(past(1, {}))[1]).toContain('█')
})
