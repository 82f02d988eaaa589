import { existsSync, rmSync } from 'node:fs'
import type { Policy } from '../../core/index.ts'
import { checkHistory, type Violation } from '../check-history.ts'
import type { History, HistoryRecord } from '../history.ts'
import { mergeJournals, readJournal, type TimedRecord } from '../journal.ts'
import { withoutLostTails } from './lost-tails.ts'

export interface Evidence {
  readonly folder: string
  readonly policy: Policy
  /** What was seen while it ran. */
  readonly violations: readonly Violation[]
  readonly journals: { readonly servers: readonly string[]; readonly others: readonly string[] }
  readonly faults: Readonly<Record<string, number>>
  readonly writes: { readonly made: number; readonly refused: number }
}

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly counts: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  /** Of the first server, in bytes, after a collection each. */
  readonly heap: readonly number[]
  readonly history: History
  /** Where the histories are, where something was violated. */
  readonly folder: string | undefined
}

const UNCLAIMED = 'not claimed in time'

export function verdictOf({ folder, policy, violations: seen, journals, faults, writes }: Evidence): Verdict {
  const read = (paths: readonly string[]) => paths.filter((path) => existsSync(path)).map(readJournal)
  const others = read(journals.others)
  const check = (servers: readonly (readonly TimedRecord[])[]) =>
    checkHistory(mergeJournals([...servers, ...others]), { policy })
  const servers = withoutLostTails(read(journals.servers), check)
  const history = mergeJournals([...servers, ...others])
  const violations = [...seen, ...checkHistory(history, { policy })]
  const heap = (servers[0] ?? []).flatMap((record) =>
    record.kind === 'server' && record.what === 'heap' ? [record.count] : [],
  )
  const counts = { ...countsOf(history), 'fenced writes': writes.made, 'writes refused': writes.refused }
  if (violations.length === 0) rmSync(folder, { recursive: true })
  return { violations, counts, faults, heap, history, folder: violations.length > 0 ? folder : undefined }
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
    if (record.reply.status === 'skip') add('skips')
    for (const event of record.events) {
      if (event.type === 'granted') add('grants')
      if (event.type === 'granted' && event.handOver) add('hand-overs')
      if (event.type === 'told' && event.answer.status === 'skip') add('skips', event.askers.length)
      if (event.type === 'ended' && event.outcome.outcome === 'expired')
        add(event.outcome.error === UNCLAIMED ? 'passed over' : 'expiries')
      if (event.type === 'ended' && event.outcome.outcome === 'revoked') add('revocations')
    }
  }
}
