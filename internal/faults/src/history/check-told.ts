import type { Event } from '@baton-lock/core'
import type { StepRecord } from './history.ts'
import { type Difference, type Line, lockstep, type Match } from './lockstep.ts'
import { describeTold, type Telling, type Timed, type Told, tellingOfHistory, withoutUndone } from './telling.ts'
import type { Violation } from './violation.ts'

interface ToldOptions {
  /** What each of those was told who listened to everything. */
  readonly tellings: readonly Telling[]
  /** What there was to be told, where somebody has written it down: those of one resource in their order. */
  readonly steps?: readonly Timed<StepRecord>[]
  /** When the database crashed, by the clock of the events. */
  readonly crashedAtMs?: readonly number[]
}

export interface ToldVerdict {
  readonly violations: readonly Violation[]
  readonly counts: {
    readonly heard: number
    /** By two of them, and found equal. */
    readonly 'compared with one another': number
    readonly 'compared with the history': number
    readonly gaps: number
    readonly 'streams resumed': number
    readonly 'undone by a crash of the database': number
  }
}

const INVARIANT = 18
const IDS = 13
/** So long before a gap is told, or after a stream has begun, something may have happened that belongs to the gap. */
const AROUND_MS = 20_000

/**
 * Checks what observers were told: the events of a resource once, in their order, all of them between two gaps. Where a
 * gap is told, some may have been missed, but none may be told again. Ids rise by one, unless a gap is told.
 */
export function checkTold({ tellings: all, steps, crashedAtMs = [] }: ToldOptions): ToldVerdict {
  const check = new ToldCheck()
  const history = steps && tellingOfHistory(steps)
  const tellings = history ? all.map((telling) => withoutUndone(telling, history, crashedAtMs)) : all
  for (const telling of tellings) {
    check.takeIds(telling)
    check.takeFences(telling)
  }
  for (const [index, one] of tellings.entries())
    for (const other of tellings.slice(index + 1)) check.takeTwo(one, other)
  if (history) for (const telling of tellings) check.takeHistory(telling, history)
  const sum = (of: (telling: Telling) => number) => tellings.reduce((total, telling) => total + of(telling), 0)
  return {
    violations: check.violations,
    counts: {
      heard: sum(({ events }) => events),
      'compared with one another': check.comparedWithOther,
      'compared with the history': check.comparedWithHistory,
      gaps: sum(({ gaps }) => gaps),
      'streams resumed': sum(({ resumed }) => resumed),
      'undone by a crash of the database': sum(({ undone }) => undone),
    },
  }
}

class ToldCheck {
  readonly violations: Violation[] = []
  comparedWithOther = 0
  comparedWithHistory = 0

  takeIds({ name, jumps }: Telling): void {
    for (const { event, id, after } of jumps)
      this.#violated({ event }, `${name} was told the event ${id} after ${after}, and of no gap`, IDS)
  }

  /** Grants begin before they end, each once, and their fences rise: also beyond a gap. */
  takeFences({ name, stretches }: Telling): void {
    const granted = new Map<string, number>()
    const ended = new Set<string>()
    for (const told of stretches.flatMap(({ of }) => [...of.values()].flat())) {
      const { event } = told
      if (event.type !== 'granted' && event.type !== 'ended') continue
      const resource = nameOf(event)
      const grant = `${resource} ${event.fence}`
      if (event.type === 'ended') {
        if (ended.has(grant)) this.#violated(told, `${name} was told a second time of the end of fence ${event.fence}`)
        ended.add(grant)
        continue
      }
      const highest = granted.get(resource) ?? 0
      if (event.fence <= highest)
        this.#violated(told, `${name} was told that fence ${event.fence} was granted after ${highest}`)
      if (ended.has(grant)) this.#violated(told, `${name} was told of the grant of fence ${event.fence} after its end`)
      granted.set(resource, Math.max(highest, event.fence))
    }
  }

  takeTwo(one: Telling, other: Telling): void {
    for (const resource of resourcesOf(one, other)) {
      const { matches, differences } = lockstep(lineOf(one, resource), lineOf(other, resource), { isOtherWhole: false })
      this.comparedWithOther += lengthOf(matches)
      for (const difference of differences) this.#differs(one, difference, `where ${other.name} was told`)
    }
  }

  takeHistory(telling: Telling, history: Telling): void {
    for (const resource of resourcesOf(telling, history)) {
      const line = lineOf(history, resource)
      const { matches, differences } = lockstep(lineOf(telling, resource), line, { isOtherWhole: true })
      this.comparedWithHistory += lengthOf(matches)
      for (const difference of differences) this.#differs(telling, difference, 'where the history has')
      if (differences.length === 0) this.#silence(telling, line.flat(), matches)
    }
  }

  /** What happened while there was no gap near was told. */
  #silence({ name, stretches }: Telling, happened: readonly Told[], matches: readonly Match[]): void {
    const told = new Set(matches.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, at) => from + at)))
    for (const [index, { startMs, endMs }] of stretches.entries()) {
      const untilMs = endMs - AROUND_MS
      if (untilMs <= startMs) continue
      const first = matches.find(({ stretch }) => stretch === index)?.from ?? Infinity
      const isOwed = ({ monoMs }: Told, place: number) =>
        monoMs < untilMs && (place >= first || monoMs > startMs + AROUND_MS) && !told.has(place)
      const missed = happened.find(isOwed)
      if (missed) this.#violated(missed, `${name} was never told of ${describeTold(missed)}, and of no gap either`)
    }
  }

  #differs({ name }: Telling, { told, other }: Difference, where: string): void {
    const instead = other ? `${where} ${describeTold(other)}` : `${where} nothing more`
    this.#violated(told, `${name} was told of ${describeTold(told)}, ${instead}`)
  }

  #violated({ event: { atMs, resource } }: Pick<Told, 'event'>, what: string, invariant = INVARIANT): void {
    this.violations.push({ invariant, resource, what: `at ${(atMs / 1_000).toFixed(3)}s: ${what}` })
  }
}

function lineOf({ stretches }: Telling, resource: string): Line {
  return stretches.map(({ of }) => of.get(resource) ?? [])
}

function resourcesOf(...tellings: readonly Telling[]): Set<string> {
  return new Set(tellings.flatMap(({ stretches }) => stretches.flatMap(({ of }) => [...of.keys()])))
}

function lengthOf(matches: readonly Match[]): number {
  return matches.reduce((total, { from, to }) => total + to - from, 0)
}

function nameOf({ namespace, resource }: Event): string {
  return JSON.stringify([namespace, resource])
}
