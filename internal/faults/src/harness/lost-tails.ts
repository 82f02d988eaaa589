import type { Policy } from '@baton-lock/core'
import { resourceName, StepsCheck } from '../history/check-history.ts'
import type { StepRecord } from '../history/history.ts'
import { mergeJournals, type TimedRecord } from '../history/journal.ts'

type Journals = readonly (readonly TimedRecord[])[]
type TimedStep = StepRecord & { readonly monoMs: number }

/**
 * A server writes a step down as it takes it, which is before its store has made it durable. Killed in between, it has
 * told nobody, and the step may be gone: but only with all that came after it, and none that was acknowledged. So of the
 * last steps of every life that was ended, as few are left out as it takes for the next life to agree, if any number does.
 */
export function withoutLostTails(journals: Journals, policy: Policy): Journals {
  const lost = new Set<TimedRecord>()
  const sofar = new StepsCheck(policy)
  const steps = mergeJournals(journals).filter((record) => record.kind === 'step') as TimedStep[]
  let at = 0
  const take = (untilMs: number, except: ReadonlySet<TimedRecord>) => {
    for (; at < steps.length && steps[at]!.monoMs <= untilMs; at++) if (!except.has(steps[at]!)) sofar.take(steps[at]!)
  }
  // The last lives were not killed. The others are settled in the order of their ends.
  const lives = journals.flatMap(livesOf).sort((a, b) => a.endMs - b.endMs)
  for (const { endMs, tail, isLast } of lives) {
    if (isLast || tail.length === 0) continue
    const suspects = new Set<TimedRecord>(tail)
    take(endMs, suspects)
    const nextEndMs = Math.min(...lives.map((life) => life.endMs).filter((each) => each > endMs))
    const about = new Set(tail.map(resourceName))
    const next = steps.slice(at).filter((step) => step.monoMs <= nextEndMs && about.has(resourceName(step)))
    const kept = keptOf(tail, (some) => agrees(sofar.fork(about), [...some, ...next]))
    for (const step of kept) sofar.take(step)
    for (const step of tail) if (!kept.includes(step)) lost.add(step)
  }
  return journals.map((journal) => journal.filter((record) => !lost.has(record)))
}

/** As many of the first of them as agree with what came after; all of them where no number does. */
function keptOf(tail: readonly TimedStep[], isGood: (kept: readonly TimedStep[]) => boolean): readonly TimedStep[] {
  for (let count = tail.length; count >= 0; count--) if (isGood(tail.slice(0, count))) return tail.slice(0, count)
  return tail
}

function agrees(check: StepsCheck, steps: readonly TimedStep[]): boolean {
  for (const step of steps) {
    check.take(step)
    if (check.violations.length > 0) return false
  }
  return true
}

interface Life {
  readonly endMs: number
  /** The steps at its end that nobody was told of. */
  readonly tail: readonly TimedStep[]
  readonly isLast: boolean
}

function livesOf(journal: readonly TimedRecord[]): Life[] {
  const starts = journal.flatMap((record, at) => (record.kind === 'server' && record.what === 'started' ? [at] : []))
  return starts.map((start, index) => {
    const end = starts[index + 1] ?? journal.length
    const records = journal.slice(start, end)
    const kept = Math.max(
      0,
      ...records.flatMap((record) => (record.kind === 'server' && record.what === 'kept' ? [record.count] : [])),
    )
    const tail = records.filter((record): record is TimedStep => record.kind === 'step').slice(kept)
    return { endMs: records.at(-1)!.monoMs, tail, isLast: end === journal.length }
  })
}
