import { expect, test } from 'vitest'
import type { SessionRecord, StepRecord } from './history.ts'
import { SessionCheck, type SessionCheckOptions } from './session-check.ts'
import type { Violation } from './violation.ts'

const ttlMs = 2_000
const record = (what: SessionRecord['what'], askedMs: number, nowMs = askedMs): SessionRecord => ({
  kind: 'session',
  session: 's',
  what,
  askedMs,
  nowMs,
  ttlMs,
})
const lost = (nowMs: number): StepRecord => ({
  kind: 'step',
  namespace: 'default',
  resource: 'r',
  nowMs,
  command: { type: 'session-lost', session: 's', operation: 'lock', owner: 'o' },
  reply: { status: 'done' },
  events: [],
})

function violationsOf(...history: (SessionRecord | StepRecord)[]): readonly string[] {
  return violationsIn(history)
}

function violationsIn(history: readonly (SessionRecord | StepRecord)[], options: SessionCheckOptions = {}) {
  const violations: Violation[] = []
  const check = new SessionCheck(violations, options)
  for (const each of history) each.kind === 'step' ? check.takeStep(each) : check.take(each)
  return violations.map(({ what }) => what)
}

test('a session that is ended before its time is seen, and one that is ended in time is none', () => {
  const opened = record('opened', 0, 10)
  expect(violationsOf(opened, lost(1_999))).toEqual(['session s was ended before its time'])
  expect(violationsOf(opened, lost(2_000))).toEqual([])
})

test('a renewal after the end is seen', () => {
  const opened = record('opened', 0, 10)
  expect(violationsOf(opened, record('renewed', 2_010))).toEqual(['session s was renewed after its end'])
  expect(violationsOf(opened, record('renewed', 2_009, 3_000))).toEqual([])
})

test('a renewal that nobody answered may have been made: it counts for the end of the session, not for its life', () => {
  const history = [record('asked', 0), record('opened', 0, 10), record('asked', 1_500)]
  expect(violationsOf(...history, record('asked', 3_000), record('renewed', 3_000))).toEqual([])
  expect(violationsOf(...history, lost(2_000))).toEqual([])
  const answered = [...history, record('renewed', 1_500, 1_510)]
  expect(violationsOf(...answered, record('renewed', 3_510))).toEqual(['session s was renewed after its end'])
})

test('a session may end as soon as that is asked for, and is over when that is answered', () => {
  const history = [record('opened', 0, 10), record('ending', 100)]
  expect(violationsOf(...history, lost(101))).toEqual([])
  expect(violationsOf(...history, record('renewed', 150))).toEqual([])
  const over = [...history, record('ended', 100, 200)]
  expect(violationsOf(...over, record('renewed', 200))).toEqual(['session s was renewed after its end'])
})

test('where sessions may end late, they may be renewed until their end was told, and not after it', () => {
  const late = { doSessionsEndLate: true }
  const opened = record('opened', 0, 10)
  expect(violationsIn([opened, record('renewed', 9_000), lost(11_000)], late)).toEqual([])
  expect(violationsIn([opened, record('renewed', 9_000), lost(10_999)], late)).toEqual([
    'session s was ended before its time',
  ])
  expect(violationsIn([opened, lost(9_000), record('renewed', 9_000)], late)).toEqual([
    'session s was renewed after its end',
  ])
  expect(violationsIn([opened, lost(9_000), record('renewed', 8_999)], late)).toEqual([])
})

test('a session whose end was told is over, also where it could have lived on', () => {
  const history = [record('opened', 0, 10), record('asked', 1_900), lost(2_100)]
  expect(violationsOf(...history, record('renewed', 2_200))).toEqual(['session s was renewed after its end'])
})

test('where a resource has an axis of its own, the end of a session counts by the wall', () => {
  const opened = record('opened', 0, 10)
  expect(violationsOf(opened, { ...lost(70), wallMs: 2_000 })).toEqual([])
  expect(violationsOf(opened, { ...lost(7_000), wallMs: 1_999 })).toEqual(['session s was ended before its time'])
})
