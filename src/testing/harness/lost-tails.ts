import type { Violation } from '../check-history.ts'
import type { TimedRecord } from '../journal.ts'

type Journals = readonly (readonly TimedRecord[])[]
type Check = (journals: Journals) => readonly Violation[]

/**
 * A server writes a step down as it takes it, which is before its store has made it durable. Killed in between, it has
 * told nobody, and the step may be gone: but only with all that came after it, and none that was acknowledged. So of the
 * last steps of every life that was ended, as many are left out as it takes for the rest to agree, if any number does.
 */
export function withoutLostTails(journals: Journals, check: Check): Journals {
  if (check(journals).length === 0) return journals
  let settled = journals
  const lives = journals.flatMap((journal, index) => livesOf(journal).map((life) => ({ ...life, index })))
  // The last lives were not killed. The others are settled in the order of their ends.
  for (const life of lives.filter(({ isLast }) => !isLast).sort((a, b) => a.endMs - b.endMs)) {
    const nextEndMs = Math.min(...lives.filter(({ endMs }) => endMs > life.endMs).map(({ endMs }) => endMs))
    settled = settle(settled, life, (each) => check(each.map((journal) => journal.filter(until(nextEndMs)))))
  }
  return settled
}

interface Life {
  readonly index: number
  readonly endMs: number
  /** The steps at its end that nobody was told of, last first. */
  readonly tail: readonly TimedRecord[]
}

function settle(journals: Journals, { index, tail }: Life, check: Check): Journals {
  let best = journals
  let fewest = check(journals).length
  const lost = new Set<TimedRecord>()
  for (const step of tail) {
    if (fewest === 0) break
    lost.add(step)
    const candidate = journals.map((journal, at) =>
      at === index ? journal.filter((each) => !lost.has(each)) : journal,
    )
    const count = check(candidate).length
    if (count < fewest) [best, fewest] = [candidate, count]
  }
  return best
}

function livesOf(journal: readonly TimedRecord[]): (Omit<Life, 'index'> & { readonly isLast: boolean })[] {
  const starts = journal.flatMap((record, at) => (record.kind === 'server' && record.what === 'started' ? [at] : []))
  return starts.map((start, index) => {
    const end = starts[index + 1] ?? journal.length
    const records = journal.slice(start, end)
    const kept = Math.max(
      0,
      ...records.flatMap((record) => (record.kind === 'server' && record.what === 'kept' ? [record.count] : [])),
    )
    const tail = records.filter(({ kind }) => kind === 'step').slice(kept)
    return { endMs: records.at(-1)!.monoMs, tail: tail.reverse(), isLast: end === journal.length }
  })
}

function until(endMs: number): (record: TimedRecord) => boolean {
  return ({ monoMs }) => monoMs <= endMs
}
