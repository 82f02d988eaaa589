import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Policy } from '@baton-lock/core'
import { checkHistory, type Violation } from '../history/check-history.ts'
import { checkTold, type ToldVerdict } from '../history/check-told.ts'
import type { History, HistoryRecord } from '../history/history.ts'
import { Journal, mergeJournals, readJournal, type TimedRecord } from '../history/journal.ts'
import { besideSteps, checkKept, type KeptStep, timedSteps } from '../history/shared-history.ts'
import { type Note, tellingOf } from '../history/telling.ts'
import { lateEnds, type Stop } from './late-ends.ts'
import { withoutLostTails } from './lost-tails.ts'
import { FAREWELL } from './observer-slot.ts'

interface Evidence {
  readonly folder: string
  readonly policy: Policy
  /** What was seen while it ran. */
  readonly violations: readonly Violation[]
  readonly journals: { readonly servers: readonly string[]; readonly others: readonly string[] }
  readonly shared: SharedSteps | undefined
  /** Where those have written down what they were told who listened to everything. */
  readonly observers: readonly { readonly name: string; readonly notes: string }[]
  readonly faults: Readonly<Record<string, number>>
  /** When the server was stopped, where no lease may have ended late otherwise. */
  readonly stops?: readonly Stop[]
  readonly writes: { readonly made: number; readonly refused: number }
}

/** What a store that several processes share has written down itself. */
export interface SharedSteps {
  readonly steps: readonly KeptStep[]
  /** How far its clock is ahead of the machine's. */
  readonly aheadMs: number
  /** When the database was killed, by the machine's clock. */
  readonly killedAtMs: readonly number[]
  readonly doSessionsEndLate: boolean
}

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly counts: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Of the first server, in bytes, after a collection each. */
  readonly heap: readonly number[]
  /** What was found out about what observers were told; nothing where there were none. */
  readonly told: ToldVerdict['counts'] | undefined
  readonly history: History
  /** Where the histories are, where something was violated. */
  readonly folder: string | undefined
}

const UNCLAIMED = 'not claimed in time'

export function verdictOf(evidence: Evidence): Verdict {
  const { folder, policy, journals, faults, writes } = evidence
  const read = (paths: readonly string[]) => paths.filter((path) => existsSync(path)).map(readJournal)
  const [servers, others] = [read(journals.servers), read(journals.others)]
  const { history, violations } = evidence.shared
    ? ofShared(evidence.shared, [...servers, ...others], policy)
    : ofServers(servers, others, policy)
  const told = evidence.observers.length > 0 ? toldOf(evidence, servers) : undefined
  const late = evidence.stops ? servers.flatMap((server) => lateEnds(server, evidence.stops!)) : []
  const all = [...evidence.violations, ...violations, ...(told?.violations ?? []), ...late]
  const heap = (servers[0] ?? []).flatMap((record) =>
    record.kind === 'server' && record.what === 'heap' ? [record.count] : [],
  )
  const { acknowledged, ...happened } = countsOf(history)
  const counts = {
    ...happened,
    // Only on a stream, and where the servers themselves remember.
    ...(!evidence.shared && { acknowledged }),
    'fenced writes': writes.made,
    'writes refused': writes.refused,
  }
  if (all.length === 0) rmSync(folder, { recursive: true })
  else if (evidence.shared)
    keep(join(folder, 'store.jsonl'), timedSteps(evidence.shared.steps, evidence.shared.aheadMs))
  const kept = all.length > 0 ? folder : undefined
  return { violations: all, counts, faults, heap, told: told?.counts, history, folder: kept }
}

/** Steps that a killed server has lost may be among these: observers know of the gap that it left. */
function toldOf({ observers, shared }: Evidence, servers: Journals): ToldVerdict {
  const steps = shared
    ? timedSteps(
        [...shared.steps].sort((a, b) => a.order - b.order),
        shared.aheadMs,
      )
    : servers.flat()
  return checkTold({
    ...(shared && { crashedAtMs: shared.killedAtMs.map((killedMs) => killedMs + shared.aheadMs) }),
    tellings: observers.map(({ name, notes }) => tellingOf(name, readJournal<Note>(notes))),
    steps: steps.filter((record) => record.kind === 'step').filter(({ resource }) => resource !== FAREWELL),
  })
}

type Journals = readonly (readonly TimedRecord[])[]
type Checked = { readonly history: History; readonly violations: readonly Violation[] }

/** Every server has written down the steps that it has taken. */
function ofServers(servers: Journals, others: Journals, policy: Policy): Checked {
  const settled = withoutLostTails(servers, policy)
  const history = mergeJournals([...settled, ...others])
  return { history, violations: checkHistory(history, { policy }) }
}

/** The store has written down the steps; servers, or clients on it, what they know of them. */
function ofShared({ steps, aheadMs, doSessionsEndLate }: SharedSteps, journals: Journals, policy: Policy): Checked {
  const told = journals.flat()
  const answers = told
    .filter((record) => record.kind === 'answer')
    .map((record) => ({ ...record, nowMs: record.monoMs + aheadMs }))
  const taken = timedSteps(steps, aheadMs)
  const history = mergeJournals([taken, ...journals.map((each) => besideSteps(each, aheadMs))])
  const deadlocks = told.flatMap((record) =>
    record.kind === 'server' && record.what === 'deadlock'
      ? [{ invariant: 0, resource: '', what: `the store let a deadlock out (error ${record.count})` }]
      : [],
  )
  return {
    history,
    violations: [...deadlocks, ...checkKept(steps, answers), ...checkHistory(history, { policy, doSessionsEndLate })],
  }
}

function keep(path: string, records: readonly TimedRecord[]): void {
  const journal = new Journal(path)
  for (const { monoMs, ...record } of records) journal.write(record, monoMs)
  journal.close()
}

function countsOf(history: History): Record<string, number> {
  const counts = {
    calls: 0,
    performed: 0,
    'told to skip': 0,
    thrown: 0,
    steps: 0,
    grants: 0,
    'hand-overs': 0,
    skips: 0,
    expiries: 0,
    'passed over': 0,
    revocations: 0,
    'lost grants': 0,
    reconnects: 0,
    'sessions opened': 0,
    acknowledged: 0,
  }
  const add = (name: keyof typeof counts, count = 1) => {
    counts[name] += count
  }
  for (const record of history) count(record, add)
  return counts

  function count(record: HistoryRecord, add: (name: keyof typeof counts, count?: number) => void): void {
    if (record.kind === 'call') {
      add('calls')
      add(record.status === 'skipped' ? 'told to skip' : record.status)
    }
    if (record.kind === 'callback' && record.what === 'lost') add('lost grants')
    if (record.kind === 'client' && record.what === 'reconnected') add('reconnects')
    if (record.kind === 'session' && record.what === 'opened') add('sessions opened')
    if (record.kind !== 'step') return
    add('steps')
    if (record.command.type === 'acknowledge') add('acknowledged')
    if (record.reply.status === 'skip') add('skips')
    for (const { event } of record.events) {
      if (event.type === 'granted') add('grants')
      if (event.type === 'granted' && event.handOver) add('hand-overs')
      if (event.type === 'told' && event.answer.status === 'skip') add('skips', event.count)
      if (event.type === 'ended' && event.outcome.outcome === 'expired')
        add(event.outcome.error === UNCLAIMED ? 'passed over' : 'expiries')
      if (event.type === 'ended' && event.outcome.outcome === 'revoked') add('revocations')
    }
  }
}
