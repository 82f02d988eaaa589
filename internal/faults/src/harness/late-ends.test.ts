import { expect, test } from 'vitest'
import type { TimedRecord } from '../history/journal.ts'
import { lateEnds } from './late-ends.ts'

const renewed = (monoMs: number): TimedRecord => ({
  kind: 'session',
  nowMs: monoMs,
  askedMs: monoMs,
  session: 's',
  what: 'renewed',
  ttlMs: 2_000,
  monoMs,
})
const lost = (monoMs: number): TimedRecord => ({
  kind: 'step',
  nowMs: monoMs,
  namespace: 'default',
  resource: 'r',
  command: { type: 'session-lost', session: 's', operation: 'lock', node: 'n', owner: 'o' },
  reply: { status: 'done' },
  events: [],
  monoMs,
})

test('a session that ends within a second of its time is in time', () => {
  expect(lateEnds([renewed(0), renewed(5_000), lost(7_999)], [])).toEqual([])
})

test('one that ends later is a violation', () => {
  const [violation, ...others] = lateEnds([renewed(0), lost(3_100)], [])
  expect(violation).toMatchObject({ invariant: 10, resource: 'r', what: 'session s ended 1100 ms after its time' })
  expect(others).toEqual([])
})

test('time in which the server was stopped does not count', () => {
  const stops = [{ fromMs: 1_000, toMs: 4_000 }]
  expect(lateEnds([renewed(0), lost(5_900)], stops)).toEqual([])
  expect(lateEnds([renewed(0), lost(6_100)], stops)).toHaveLength(1)
  expect(lateEnds([renewed(3_500), lost(6_400)], stops)).toEqual([])
})
