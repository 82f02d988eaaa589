import { expect, test } from 'vitest'
import type { AnswerRecord, SessionRecord } from './history.ts'
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

test('time that goes back within a resource is seen', () => {
  expect(whats(checkKept([step(1, 5), step(2, 3)], []))).toEqual(['16 at 0.003s: time went back by 2 ms'])
  expect(checkKept([step(1, 5), step(2, 3, 's')], [])).toEqual([])
})

test('on an axis of a resource’s own, a step stands by the wall, and time goes back only where nothing was written', () => {
  const own = (order: number, nowMs: number, isWritten = true): KeptStep => ({
    ...step(order, nowMs),
    wallMs: AHEAD_MS + 7,
    isWritten,
  })
  expect(timedSteps([own(1, 5)], AHEAD_MS)).toMatchObject([{ nowMs: 5, monoMs: 7 }])
  expect(checkKept([own(1, 5), own(2, 9, false), own(3, 6)], [])).toEqual([])
  expect(whats(checkKept([own(1, 5), own(2, 9, false), own(3, 4)], []))).toEqual([
    '16 at 0.004s: time went back by 1 ms',
  ])
})

test('an answer whose step is gone is seen, and one that was given more often than the step was taken', () => {
  const answer = (reply: object): AnswerRecord => ({ ...step(0, 9), kind: 'answer', reply })
  const steps = [step(1, 1), step(2, 2)]
  expect(checkKept(steps, [answer({ status: 'done' }), answer({ status: 'done' })])).toEqual([])
  expect(checkKept(steps, [])).toEqual([])
  expect(whats(checkKept(steps, Array(3).fill(answer({ status: 'done' }))))).toEqual([
    '12 at 0.009s: expire was answered {"status":"done"}, and is gone',
  ])
  expect(whats(checkKept(steps, [answer({ status: 'queued', position: 1 })]))).toEqual([
    '12 at 0.009s: expire was answered {"status":"queued","position":1}, and is gone',
  ])
})
