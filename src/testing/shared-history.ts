import { isDeepStrictEqual } from 'node:util'
import type { SessionRecord, StepRecord } from './history.ts'
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
  return steps.map((step) => ({ ...step, monoMs: step.nowMs - aheadMs }))
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
    if (record.kind === 'step' || record.kind === 'server') continue
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
 * What the store has kept must be all of it: no step is missing between two others, and none that a process knew to be
 * taken (`acknowledged`) is gone or another one. And time does not go back.
 */
export function checkKept(steps: readonly KeptStep[], acknowledged: readonly StepRecord[]): Violation[] {
  const violations: Violation[] = []
  const kept = new Map<string, Map<number, KeptStep>>()
  const last = new Map<string, KeptStep>()
  for (const step of [...steps].sort((a, b) => a.order - b.order)) {
    const { resource, order, nowMs } = step
    const name = nameOf(step)
    const before = last.get(name)
    const violated = (invariant: number, what: string) => violations.push({ invariant, resource, what })
    if (before && order !== before.order + 1) violated(12, `step ${before.order + 1} is missing, ${order} is there`)
    if (!before && order > 1) violated(12, `its first step that is there is step ${order}`)
    if (before && nowMs < before.nowMs)
      violated(16, `time went back by ${before.nowMs - nowMs} ms from step ${before.order} to step ${order}`)
    last.set(name, step)
    kept.set(name, (kept.get(name) ?? new Map()).set(order, step))
  }
  for (const step of acknowledged) {
    if (step.order === undefined) continue
    const found = kept.get(nameOf(step))?.get(step.order)
    if (found && isDeepStrictEqual(contentOf(found), contentOf(step))) continue
    const said = `step ${step.order} (${step.command.type}) was acknowledged`
    const what = found ? `${said}, and another one (${found.command.type}) is in its place` : `${said}, and is gone`
    violations.push({ invariant: 12, resource: step.resource, what })
  }
  return violations
}

function nameOf({ namespace, resource }: StepRecord): string {
  return JSON.stringify([namespace, resource])
}

function contentOf({ command, reply, events }: StepRecord): unknown {
  return JSON.parse(JSON.stringify({ command, reply, events }))
}
