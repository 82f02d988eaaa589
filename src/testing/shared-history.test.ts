import { expect, test } from 'vitest'
import type { SessionRecord } from './history.ts'
import { machineMs, mergeJournals, type TimedRecord } from './journal.ts'
import { besideSteps, checkKept, type KeptStep, timedSteps, wallAheadMs } from './shared-history.ts'

const AHEAD_MS = 1_000_000
const step = (order: number, nowMs: number, resource = 'r'): KeptStep => ({
  kind: 'step',
  namespace: 'default',
  resource,
  order,
  nowMs,
  command: { type: 'expire' },
  reply: { status: 'done' },
  events: [],
})
const whats = (violations: readonly { invariant: number; what: string }[]) =>
  violations.map(({ invariant, what }) => `${invariant} ${what}`)

test('the clock on the wall is related to that of the machine to a fraction of a millisecond', () => {
  const aheadMs = wallAheadMs()
  expect(Math.abs(wallAheadMs() - aheadMs)).toBeLessThan(1)
  expect(Math.abs(Date.now() - (machineMs() + aheadMs))).toBeLessThan(20)
})

test('a step that the database has kept stands where it was decided, before what followed from it', () => {
  const heard: TimedRecord = { kind: 'client', client: 'c', what: 'reconnected', nowMs: 7, monoMs: 7 }
  const steps = timedSteps([step(1, AHEAD_MS + 5), step(2, AHEAD_MS + 9)], AHEAD_MS)
  expect(mergeJournals([[heard], steps]).map((record) => (record.kind === 'step' ? record.order : 'heard'))).toEqual([
    1,
    'heard',
    2,
  ])
})

test('the life of a session is told by the database’s clock, from before it was asked for until after the answer', () => {
  // What the process believed the time to be is off by far.
  const about = { kind: 'session', session: 's', askedMs: 70, ttlMs: 2_000 } as const
  const records: (SessionRecord & TimedRecord)[] = [
    { ...about, what: 'asked', nowMs: 70, monoMs: 10 },
    { ...about, what: 'opened', nowMs: 75, monoMs: 15 },
  ]
  const server: TimedRecord = { kind: 'server', what: 'started', count: 0, nowMs: 0, monoMs: 1 }
  const taken: TimedRecord = { ...step(1, 80), monoMs: 20 }
  expect(besideSteps([server, ...records, taken], AHEAD_MS)).toMatchObject([
    { what: 'asked', askedMs: AHEAD_MS + 9, nowMs: AHEAD_MS + 11 },
    { what: 'opened', askedMs: AHEAD_MS + 9, nowMs: AHEAD_MS + 16 },
  ])
})

test('a hole in the steps of a resource is seen', () => {
  expect(checkKept([step(1, 1), step(2, 2), step(1, 1, 's')], [])).toEqual([])
  expect(whats(checkKept([step(1, 1), step(3, 2)], []))).toEqual(['12 step 2 is missing, 3 is there'])
  expect(whats(checkKept([step(2, 2)], []))).toEqual(['12 its first step that is there is step 2'])
})

test('time that goes back within a resource is seen', () => {
  expect(whats(checkKept([step(1, 5), step(2, 3)], []))).toEqual(['16 time went back by 2 ms from step 1 to step 2'])
  expect(checkKept([step(1, 5), step(1, 3, 's')], [])).toEqual([])
})

test('a step that was acknowledged, and is gone or another one, is seen', () => {
  const steps = [step(1, 1), step(2, 2)]
  expect(checkKept(steps, [step(1, 1), step(2, 2)])).toEqual([])
  expect(whats(checkKept(steps, [step(3, 3)]))).toEqual(['12 step 3 (expire) was acknowledged, and is gone'])
  const other: KeptStep = { ...step(2, 2), command: { type: 'add-reference', node: 'n' } }
  expect(whats(checkKept(steps, [other]))).toEqual([
    '12 step 2 (add-reference) was acknowledged, and another one (expire) is in its place',
  ])
})
