import type { Buckets, Gauged, Series, Statistics } from '@baton-lock/service'
import type { Delays } from './event-loop-delay.ts'
import type { ProcessFigures } from './process-figures.ts'

/** All that is known when somebody asks. */
export interface Measured {
  readonly version: string
  readonly storeId: string
  /** Absent where nobody counts. */
  readonly statistics: Statistics | undefined
  /** Absent where the store does not answer. */
  readonly gauged: Gauged | undefined
  readonly requests: Readonly<Record<string, number>>
  readonly refusals: Readonly<Record<string, number>>
  readonly streams: { readonly size: number; readonly cut: number }
  readonly unsentBytes: number
  readonly eventLoop: Delays
  readonly process: ProcessFigures
}

/** One line: by its labels, and in a histogram or summary by its own name. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** A metric: docs/operations.md has a row for each, made from this. */
export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly help: string
  /** Beside those that its type brings. */
  readonly labels: readonly string[]
  /** How the values of several servers on one store come together; nothing where they do not. */
  readonly over?: 'sum' | 'max' | 'min'
  values(measured: Measured): readonly Sample[]
}

const BY_OPERATION = ['namespace', 'operation'] as const

/** What each server has caused itself, by namespace and operation. */
const caused: Readonly<Record<string, Family>> = {
  baton_grants_total: bySeries('Grants, to those who asked and to those who waited', ({ grants }) => grants),
  baton_hand_overs_total: bySeries(
    'Of these, the ones that went to somebody who had waited',
    ({ handOvers }) => handOvers,
  ),
  baton_skips_total: bySeries(
    "Asks that were answered 'this has been done already', at once or after waiting: work that was saved",
    ({ skips }) => skips,
  ),
  baton_outcomes_total: {
    type: 'counter',
    help: 'Grants that have ended, by how: success, failure, cancelled, expired, revoked',
    labels: [...BY_OPERATION, 'outcome'],
    over: 'sum',
    values: ({ statistics }) =>
      [...seriesOf(statistics)].flatMap((series) => {
        const labels = labelsOf(series)
        return Object.entries(series.outcomes).map(([outcome, value]) => ({ labels: { ...labels, outcome }, value }))
      }),
  },
  baton_waiting_seconds: bySeriesInBuckets(
    'How long those have waited who stood in line, until they were granted or told; whoever left by itself is not in it',
    'baton_waiting_seconds',
    ({ waiting }) => waiting,
  ),
  baton_holding_seconds: bySeriesInBuckets(
    'How long grants were held until success or failure was reported',
    'baton_holding_seconds',
    ({ holding }) => holding,
  ),
}

/** What the store says: the same at every server on it. */
const ofTheStore: Readonly<Record<string, Family>> = {
  baton_queue_depth: {
    type: 'gauge',
    help: 'Those who wait now',
    labels: BY_OPERATION,
    over: 'max',
    values: ({ statistics, gauged }) => queueDepths(statistics, gauged),
  },
  baton_waiters: counted('Those who wait now, for whatever', ({ waiters }) => waiters),
  baton_grants_active: counted('Grants that live now', ({ grants }) => grants),
  baton_resources: counted('Resources that the store knows something of', ({ resources }) => resources),
  baton_sessions: counted('Sessions that are alive', ({ sessions }) => sessions),
  baton_store_up: gauge('min', '1 while the store answers this server within a second, else 0', ({ gauged }) =>
    gauged ? 1 : 0,
  ),
}

/** What there is of this server. */
const ofTheServer: Readonly<Record<string, Family>> = {
  baton_store_step_seconds: {
    type: 'histogram',
    help:
      'How long the store takes for a step, or for all that are asked for together, until it is durable: ' +
      'the sync of the file store, the transaction of MySQL, next to nothing in memory',
    labels: [],
    over: 'sum',
    values: ({ statistics }) =>
      statistics ? bucketSamples('baton_store_step_seconds', statistics.storeSteps, {}) : [],
  },
  baton_requests_total: {
    type: 'counter',
    help: 'Requests that were answered, whatever path they came by, by their type',
    labels: ['type'],
    over: 'sum',
    values: ({ requests }) => Object.entries(requests).map(([type, value]) => ({ labels: { type }, value })),
  },
  baton_refusals_total: {
    type: 'counter',
    help: 'Answers that were refusals, by their error code',
    labels: ['code'],
    over: 'sum',
    values: ({ refusals }) => Object.entries(refusals).map(([code, value]) => ({ labels: { code }, value })),
  },
  baton_streams: gauge('sum', 'WebSockets and event streams that are open', ({ streams }) => streams.size),
  baton_streams_cut_total: counter('Readers that were cut because they were too slow', ({ streams }) => streams.cut),
  baton_unsent_bytes: gauge(
    'sum',
    'What is held in memory for those who have not read it yet',
    ({ unsentBytes }) => unsentBytes,
  ),
  baton_event_loop_delay_seconds: {
    type: 'summary',
    help:
      'How late the event loop is. Quantiles are of the time since somebody asked before, 10 s at least; ' +
      'measured from the first time that anybody asks',
    labels: [],
    over: 'max',
    values: ({ eventLoop: { quantiles, sum, count } }) => [
      ...quantiles.map(({ quantile, delay }) => ({ labels: { quantile }, value: delay })),
      { ...sample(sum), metricName: 'baton_event_loop_delay_seconds_sum' },
      { ...sample(count), metricName: 'baton_event_loop_delay_seconds_count' },
    ],
  },
}

/** What there is of its process. */
const ofTheProcess: Readonly<Record<string, Family>> = {
  baton_process_cpu_seconds_total: counter(
    'What the process has used of the processor',
    ({ process }) => process.cpuSeconds,
  ),
  baton_process_resident_memory_bytes: gauge('sum', 'Memory of the process', ({ process }) => process.residentBytes),
  baton_process_heap_bytes: gauge('sum', 'Of that, the JavaScript heap', ({ process }) => process.heapBytes),
  baton_process_open_fds: gauge(
    'sum',
    'Open file descriptors; on Linux 6.2 and newer',
    ({ process }) => process.openFiles,
  ),
  baton_process_max_fds: gauge('sum', 'How many of them there may be', ({ process }) => process.maxFiles),
  baton_process_start_time_seconds: gauge(
    'min',
    'When the process began, since 1970',
    ({ process }) => process.startedSeconds,
  ),
  baton_build_info: {
    type: 'gauge',
    help: 'Always 1: which version, on which Node.js, over which store',
    labels: ['version', 'node_version', 'store_id'],
    values: ({ version, storeId }) => [
      { labels: { version, node_version: process.version, store_id: storeId }, value: 1 },
    ],
  },
}

/** Every metric, by its name. */
export const families: Readonly<Record<string, Family>> = { ...caused, ...ofTheStore, ...ofTheServer, ...ofTheProcess }

function sample(value: number): Sample {
  return { labels: {}, value }
}

function counter(help: string, read: (measured: Measured) => number): Family {
  return { type: 'counter', help, labels: [], over: 'sum', values: (measured) => [sample(read(measured))] }
}

function gauge(over: Family['over'], help: string, read: (measured: Measured) => number | undefined): Family {
  const values = (measured: Measured) => {
    const value = read(measured)
    return value === undefined ? [] : [sample(value)]
  }
  return { type: 'gauge', help, labels: [], ...(over && { over }), values }
}

function counted(help: string, read: (counts: Gauged['counts']) => number): Family {
  return gauge('max', help, ({ gauged }) => gauged && read(gauged.counts))
}

function seriesOf(statistics: Statistics | undefined): Iterable<Series> {
  return statistics?.series() ?? []
}

function labelsOf({ namespace, operation }: Series) {
  return { namespace, operation }
}

function bySeries(help: string, read: (series: Series) => number): Family {
  const values = ({ statistics }: Measured) =>
    Array.from(seriesOf(statistics), (series) => ({ labels: labelsOf(series), value: read(series) }))
  return { type: 'counter', help, labels: BY_OPERATION, over: 'sum', values }
}

function bySeriesInBuckets(help: string, name: string, read: (series: Series) => Buckets): Family {
  const values = ({ statistics }: Measured) =>
    Array.from(seriesOf(statistics), (series) => bucketSamples(name, read(series), labelsOf(series))).flat()
  return { type: 'histogram', help, labels: BY_OPERATION, over: 'sum', values }
}

function bucketSamples(name: string, { bounds, counts, sum }: Buckets, labels: Sample['labels']): Sample[] {
  let count = 0
  const samples: Sample[] = counts.map((each, index) => {
    count += each
    return { labels: { ...labels, le: bounds[index] ?? '+Inf' }, value: count, metricName: `${name}_bucket` }
  })
  samples.push({ labels, value: sum, metricName: `${name}_sum` }, { labels, value: count, metricName: `${name}_count` })
  return samples
}

/** Nothing where the store does not say. For an operation that was seen here it is 0 where nobody waits. */
function queueDepths(statistics: Statistics | undefined, { queues }: Partial<Gauged> = {}): readonly Sample[] {
  if (!statistics || !queues) return []
  const depths = new Map<Series, number>(Array.from(statistics.series(), (series) => [series, 0]))
  for (const { namespace, operation, waiting } of queues) {
    const series = statistics.seriesOf(namespace, operation)
    depths.set(series, (depths.get(series) ?? 0) + waiting)
  }
  return Array.from(depths, ([series, value]) => ({ labels: labelsOf(series), value }))
}
