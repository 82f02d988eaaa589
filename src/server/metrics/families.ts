import type { Buckets, Gauged, Series, Statistics } from '../../service/index.ts'
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
  readonly streams: { readonly size: number; readonly cut: number }
  readonly unsentBytes: number
  readonly eventLoop: Delays
  readonly process: ProcessFigures
}

/** One line: by its labels, and in a histogram by its own name. */
interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** A metric, its help text, and how its values are come by. */
interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly help: string
  values(measured: Measured): readonly Sample[]
}

/** What each server counts for itself, by namespace and operation: to be added up over servers. */
const counted: Readonly<Record<string, Family>> = {
  baton_grants_total: bySeries('Grants, to those who asked and to those who waited.', ({ grants }) => grants),
  baton_hand_overs_total: bySeries('Grants that went to somebody who had waited.', ({ handOvers }) => handOvers),
  baton_skips_total: bySeries(
    'Asks that were answered: this has been done already. Work that was saved.',
    ({ skips }) => skips,
  ),
  baton_outcomes_total: {
    type: 'counter',
    help: 'Grants that have ended, by how.',
    values: ({ statistics }) =>
      [...seriesOf(statistics)].flatMap((series) =>
        Object.entries(series.outcomes).map(([outcome, value]) => ({
          labels: { ...labelsOf(series), outcome },
          value,
        })),
      ),
  },
  baton_waiting_seconds: bySeriesInBuckets(
    'How long those have waited who stood in line, until they were granted or told.',
    'baton_waiting_seconds',
    ({ waiting }) => waiting,
  ),
  baton_holding_seconds: bySeriesInBuckets(
    'How long grants were held until their holder has reported success or failure.',
    'baton_holding_seconds',
    ({ holding }) => holding,
  ),
}

/** What the store says: the same at every server on it. */
const gauged: Readonly<Record<string, Family>> = {
  baton_queue_depth: {
    type: 'gauge',
    help: 'Those who wait now, in the whole store.',
    values: ({ statistics, gauged }) => queueDepths(statistics, gauged),
  },
  baton_waiters: ofStore('Those who wait now, in the whole store, in all namespaces.', ({ waiters }) => waiters),
  baton_grants_active: ofStore('Grants that live now, in the whole store.', ({ grants }) => grants),
  baton_resources: ofStore('Resources that the store knows something of.', ({ resources }) => resources),
  baton_sessions: ofStore('Sessions that are alive, in the whole store.', ({ sessions }) => sessions),
  baton_store_up: gauge('Whether the store answers this server.', ({ gauged }) => (gauged ? 1 : 0)),
}

/** What there is of this server and its process. */
const own: Readonly<Record<string, Family>> = {
  baton_streams: gauge('Streams that are open: WebSockets and event streams.', ({ streams }) => streams.size),
  baton_streams_cut_total: {
    type: 'counter',
    help: 'Readers that were cut because they were too slow.',
    values: ({ streams }) => [sample(streams.cut)],
  },
  baton_unsent_bytes: gauge('What is held for those who have not read it yet.', ({ unsentBytes }) => unsentBytes),
  baton_store_step_seconds: {
    type: 'histogram',
    help: 'How long the store takes for a step, or for all that are asked for together, until it is durable.',
    values: ({ statistics }) =>
      statistics ? bucketSamples('baton_store_step_seconds', statistics.storeSteps, {}) : [],
  },
  baton_event_loop_delay_seconds: {
    type: 'summary',
    help: 'How late the event loop is. Quantiles are of the time since somebody asked before, 10 s at least.',
    values: ({ eventLoop: { quantiles, sum, count } }) => [
      ...quantiles.map(({ quantile, delay }) => ({ labels: { quantile }, value: delay })),
      { ...sample(sum), metricName: 'baton_event_loop_delay_seconds_sum' },
      { ...sample(count), metricName: 'baton_event_loop_delay_seconds_count' },
    ],
  },
  baton_process_cpu_seconds_total: {
    type: 'counter',
    help: 'What the process has used of the processor.',
    values: ({ process }) => [sample(process.cpuSeconds)],
  },
  baton_process_resident_memory_bytes: gauge('Memory of the process.', ({ process }) => process.residentBytes),
  baton_process_heap_bytes: gauge('Memory in the JavaScript heap.', ({ process }) => process.heapBytes),
  baton_process_open_fds: gauge('Open file descriptors, where the system says so.', ({ process }) => process.openFiles),
  baton_process_max_fds: gauge('How many file descriptors there may be.', ({ process }) => process.maxFiles),
  baton_process_start_time_seconds: gauge(
    'When the process began, since 1970.',
    ({ process }) => process.startedSeconds,
  ),
  baton_build_info: {
    type: 'gauge',
    help: 'Always 1: which version this is, on which Node.js, over which store.',
    values: ({ version, storeId }) => [
      { labels: { version, node_version: process.version, store_id: storeId }, value: 1 },
    ],
  },
}

/** Every metric, by its name. The table in docs/operations.md has a row for each. */
export const families: Readonly<Record<string, Family>> = { ...counted, ...gauged, ...own }

function sample(value: number): Sample {
  return { labels: {}, value }
}

function gauge(help: string, read: (measured: Measured) => number | undefined): Family {
  return {
    type: 'gauge',
    help,
    values(measured) {
      const value = read(measured)
      return value === undefined ? [] : [sample(value)]
    },
  }
}

function ofStore(help: string, read: (counts: Gauged['counts']) => number): Family {
  return gauge(help, ({ gauged }) => gauged && read(gauged.counts))
}

function seriesOf(statistics: Statistics | undefined): Iterable<Series> {
  return statistics?.series() ?? []
}

function labelsOf({ namespace, operation }: Series) {
  return { namespace, operation }
}

function bySeries(help: string, read: (series: Series) => number): Family {
  return {
    type: 'counter',
    help,
    values: ({ statistics }) =>
      Array.from(seriesOf(statistics), (series) => ({ labels: labelsOf(series), value: read(series) })),
  }
}

function bySeriesInBuckets(help: string, name: string, bucketsOf: (series: Series) => Buckets): Family {
  return {
    type: 'histogram',
    help,
    values: ({ statistics }) =>
      Array.from(seriesOf(statistics), (series) => bucketSamples(name, bucketsOf(series), labelsOf(series))).flat(),
  }
}

function bucketSamples(name: string, { bounds, counts, sum }: Buckets, labels: Sample['labels']): Sample[] {
  let count = 0
  const samples: Sample[] = counts.map((each, index) => {
    count += each
    return { labels: { ...labels, le: bounds[index] ?? '+Inf' }, value: count, metricName: `${name}_bucket` }
  })
  samples.push({ labels, value: sum, metricName: `${name}_sum` })
  samples.push({ labels, value: count, metricName: `${name}_count` })
  return samples
}

/** Nothing where the store does not say. An operation that was seen and that nobody waits for has none. */
function queueDepths(statistics: Statistics | undefined, { queues }: Partial<Gauged> = {}): readonly Sample[] {
  if (!statistics || !queues) return []
  const depths = new Map<Series, number>(Array.from(statistics.series(), (series) => [series, 0]))
  for (const { namespace, operation, waiting } of queues) {
    const series = statistics.seriesOf(namespace, operation)
    depths.set(series, (depths.get(series) ?? 0) + waiting)
  }
  return Array.from(depths, ([series, value]) => ({ labels: labelsOf(series), value }))
}
