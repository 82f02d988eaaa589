import type { AnswerRecord, SessionRecord, StepRecord } from './history.ts'
import { machineMs, type TimedRecord } from './journal.ts'
import type { Violation } from './violation.ts'

/** A step of a store that several processes share, as the store itself has written it down with the step. */
export type KeptStep = StepRecord & { readonly order: number }

const SAMPLE_MS = 5

/** How far the clock on the wall is ahead of the machine's monotonic one: the same for long, unless somebody sets it. */
export function wallAheadMs(): number {
  let aheadMs = -Infinity
  // The clock on the wall shows whole milliseconds; the first look at a new one is the best.
  const endMs = machineMs() + SAMPLE_MS
  while (machineMs() < endMs) aheadMs = Math.max(aheadMs, Date.now() - machineMs())
  return aheadMs
}

/**
 * The steps by the machine's clock, when they were decided. What followed from one, for whoever heard of it, came after
 * that; and a lease that a step ended had run out before that.
 */
export function timedSteps(steps: readonly KeptStep[], aheadMs: number): TimedRecord[] {
  return steps.map((step) => ({ ...step, monoMs: (step.wallMs ?? step.nowMs) - aheadMs }))
}

/**
 * What a process says that shares its store, but for the steps, which the store has all of, and for its starts, which give
 * nobody any time. The life of sessions is told by the clock on the wall, which is the database's: a process only guesses
 * it, and the times at which it has written its records are exact.
 */
export function besideSteps(journal: readonly TimedRecord[], aheadMs: number): TimedRecord[] {
  const asked = new Map<string, number>()
  const told: TimedRecord[] = []
  for (const record of journal) {
    if (record.kind === 'step' || record.kind === 'answer' || record.kind === 'server') continue
    told.push(record.kind === 'session' ? byTheWall(record, asked, aheadMs) : record)
  }
  return told
}

/** A database may count whole milliseconds. */
const ROUNDING_MS = 1

function byTheWall(
  record: SessionRecord & { readonly monoMs: number },
  asked: Map<string, number>,
  aheadMs: number,
): TimedRecord {
  const name = `${record.session} ${record.askedMs}`
  const wallMs = record.monoMs + aheadMs
  if (record.what === 'asked' || record.what === 'ending') asked.set(name, wallMs - ROUNDING_MS)
  return { ...record, askedMs: asked.get(name) ?? wallMs - ROUNDING_MS, nowMs: wallMs + ROUNDING_MS }
}

/**
 * What the store has kept must be all of it: nothing that a process was answered is gone or was answered otherwise. And time
 * does not go back.
 */
export function checkKept(steps: readonly KeptStep[], answers: readonly AnswerRecord[]): Violation[] {
  const violations: Violation[] = []
  const last = new Map<string, KeptStep>()
  const kept = new Map<string, number>()
  for (const step of [...steps].sort((a, b) => a.order - b.order)) {
    const { namespace, resource, nowMs } = step
    const name = JSON.stringify([namespace, resource])
    const backMs = (last.get(name)?.nowMs ?? 0) - nowMs
    if (backMs > 0) violations.push({ invariant: 16, resource, what: `${at(step)}: time went back by ${backMs} ms` })
    // On an axis of its own, time is known by what was written.
    if (step.wallMs === undefined || step.isWritten) last.set(name, step)
    kept.set(contentOf(step), (kept.get(contentOf(step)) ?? 0) + 1)
  }
  for (const answer of answers) {
    const left = kept.get(contentOf(answer)) ?? 0
    kept.set(contentOf(answer), left - 1)
    if (left > 0) continue
    const what = `${at(answer)}: ${answer.command.type} was answered ${JSON.stringify(answer.reply)}, and is gone`
    violations.push({ invariant: 12, resource: answer.resource, what })
  }
  return violations
}

function at({ nowMs }: KeptStep | AnswerRecord): string {
  return `at ${(nowMs / 1_000).toFixed(3)}s`
}

function contentOf({ namespace, resource, command, reply }: StepRecord | AnswerRecord): string {
  return JSON.stringify([namespace, resource, command, reply])
}
