import type { Overview } from '@baton-lock/protocol'
import { formatDuration } from '@baton-lock/protocol/text/duration'
import type { ComponentChildren } from 'preact'
import { Chart } from '../resource/chart.tsx'
import { dashboard } from '../state.ts'

type OverviewPoint = Overview['points'][number]

/** How the server is doing, in six numbers and what they were before. */
export function Totals() {
  const overview = dashboard.overview.value
  const { counts, stuck } = dashboard.selection.value
  if (!overview) return <section class="totals" aria-label="Totals" aria-busy="true" />
  const points = overview.points.slice(0, -1)
  const last = points.at(-1)
  const perSecond = (value: number) => value / (overview.stepMs / 1_000)
  const span = formatDuration(points.length * overview.stepMs)
  const over = points.length > 0 ? `over the last ${span}` : 'nothing seen yet'
  const rates = (of: (point: OverviewPoint) => number) => points.map((point) => perSecond(of(point)))
  const held = overview.counts?.grants ?? counts.held
  const waiting = overview.counts?.waiters ?? counts.waiting
  const percentiles = latestPercentiles(points)
  return (
    <section class="totals" aria-label="Totals">
      <Tile name="Held" value={whole(held)} note={storeNote(overview)} kind="held">
        {overview.counts && <p class="note">{whole(overview.counts.sessions)} sessions</p>}
      </Tile>
      <Tile
        name="Waiting"
        value={whole(waiting)}
        note={stuck.length > 0 ? `${whole(stuck.length)} stuck` : 'nothing is stuck'}
        kind="waiting"
      >
        <Chart label={`In line ${over}`} lines={[{ name: 'waiting', values: points.map((point) => point.waiting) }]} />
      </Tile>
      <Tile
        name="Grants / s"
        value={rateText(last && perSecond(last.grants))}
        note={`${whole(overview.totals.grants)} in all`}
        kind="grants"
      >
        <Chart label={`Grants a second ${over}`} lines={[{ name: 'grants', values: rates((point) => point.grants) }]} />
      </Tile>
      <Tile
        name="Hand-overs / s"
        value={rateText(last && perSecond(last.handOvers))}
        note={`${whole(overview.totals.handOvers)} in all`}
        kind="hand-overs"
      >
        <Chart
          label={`Hand-overs a second ${over}`}
          lines={[{ name: 'hand-overs', values: rates((point) => point.handOvers) }]}
        />
      </Tile>
      <Tile name="Work saved" value={whole(overview.totals.skips)} note={savedNote(overview)} kind="saved">
        <Chart label={`Skips a second ${over}`} lines={[{ name: 'skips', values: rates((point) => point.skips) }]} />
      </Tile>
      <Tile
        name="Waited, p95"
        value={percentiles ? formatDuration(percentiles.p95) : '–'}
        note={
          percentiles
            ? `p50 ${formatDuration(percentiles.p50)}, p99 ${formatDuration(percentiles.p99)}`
            : 'nobody waited'
        }
        kind="waited"
      >
        <Chart
          label={`Waiting times ${over}: p50, p95 and p99`}
          lines={(['p50', 'p95', 'p99'] as const).map((name) => ({
            name,
            values: points.map(({ waitedMs }) => waitedMs?.[name]),
          }))}
        />
      </Tile>
    </section>
  )
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly kind: string
  readonly children?: ComponentChildren
}

function Tile({ name, value, note, kind, children }: TileProps) {
  return (
    <div class={`tile ${kind}`}>
      <h2>{name}</h2>
      <p class="value">{value}</p>
      <p class="note">{note}</p>
      {children}
    </div>
  )
}

function storeNote({ counts }: Overview): string {
  if (!counts) return 'in this namespace'
  return `of ${whole(counts.resources)} resources`
}

function savedNote({ totals }: Overview): string {
  const asked = totals.skips + totals.successes
  return asked === 0 ? 'skips so far' : `${Math.round((100 * totals.skips) / asked)} % needed no work`
}

function latestPercentiles(points: readonly OverviewPoint[]): OverviewPoint['waitedMs'] {
  return points.findLast(({ waitedMs }) => waitedMs !== undefined)?.waitedMs
}

function whole(value: number): string {
  return value >= 1_000_000 ? `${(value / 1_000_000).toFixed(1)}M` : value.toLocaleString('en')
}

function rateText(value: number | undefined): string {
  if (value === undefined) return '–'
  return value < 10 ? value.toFixed(1) : whole(Math.round(value))
}
