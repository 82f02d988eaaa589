import type { PastGrant } from '@baton-lock/protocol'
import { formatDuration } from '@baton-lock/protocol/text/duration'
import { oneLine } from '@baton-lock/protocol/text/harmless'

/** How a bar ends: `running` where it has not. */
export type BarOutcome = NonNullable<PastGrant['outcome']> | 'running'

/** One grant in the picture, from 0 to 1 across it. */
export interface Bar {
  readonly grant: PastGrant
  readonly outcome: BarOutcome
  readonly from: number
  readonly to: number
  /** Where it began to wait, of one that stood in line. */
  readonly waitedFrom?: number
  /** In words all that the picture says of it. */
  readonly text: string
}

/** Operations beside one another: under `exclusion: operation` they run at the same time. */
interface Lane {
  readonly operation: string
  readonly bars: readonly Bar[]
}

export interface Timeline {
  readonly fromMs: number
  readonly toMs: number
  readonly lanes: readonly Lane[]
  readonly ticks: readonly { readonly at: number; readonly text: string }[]
}

/** Of very many grants the last few make a picture. */
export const SPANS = ['last 12', '1 minute', '10 minutes', '1 hour', 'all'] as const
export type Span = (typeof SPANS)[number]

const SPAN_MS: Readonly<Partial<Record<Span, number>>> = {
  '1 minute': 60_000,
  '10 minutes': 600_000,
  '1 hour': 3_600_000,
}

export function timelineOf(grants: readonly PastGrant[], span: Span, nowMs: number): Timeline {
  const meant = span === 'last 12' ? grants.slice(-12) : grants
  const startMs = SPAN_MS[span] === undefined ? earliest(meant, nowMs) : nowMs - SPAN_MS[span]
  const toMs = nowMs
  // A little room at the left, and never nothing at all.
  const fromMs = Math.min(startMs, toMs - 1_000) - 0.01 * (toMs - startMs)
  const place = (ms: number) => Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)))
  const lanes = new Map<string, Bar[]>()
  for (const grant of meant) {
    if ((grant.endedAtMs ?? nowMs) < fromMs) continue
    const bars = lanes.get(grant.operation) ?? []
    lanes.set(grant.operation, bars)
    const waitedFrom = grant.waitedMs === undefined ? {} : { waitedFrom: place(grant.grantedAtMs - grant.waitedMs) }
    bars.push({
      grant,
      outcome: grant.outcome ?? 'running',
      from: place(grant.grantedAtMs),
      to: place(grant.endedAtMs ?? nowMs),
      ...waitedFrom,
      text: grantText(grant, nowMs),
    })
  }
  const sorted = [...lanes].map(([operation, bars]) => ({ operation, bars })).sort(byOperation)
  return { fromMs, toMs, lanes: sorted, ticks: ticksOf(fromMs, toMs) }
}

function earliest(grants: readonly PastGrant[], nowMs: number): number {
  const starts = grants.map(({ grantedAtMs, waitedMs = 0 }) => grantedAtMs - waitedMs)
  return Math.min(...starts, nowMs - 1_000)
}

function byOperation(one: Lane, other: Lane): number {
  return one.operation < other.operation ? -1 : 1
}

/** All that is known of a grant, in one line. */
function grantText(grant: PastGrant, nowMs: number): string {
  const { operation, node, fence, attempt, grantedAtMs, endedAtMs, handOver, waitedMs, skips } = grant
  const forText = formatDuration((endedAtMs ?? nowMs) - grantedAtMs)
  return [
    `fence ${fence}: ${oneLine(operation)} by ${oneLine(node)}`,
    grant.outcome === undefined ? `running for ${forText}` : `${grant.outcome} after ${forText}`,
    ...(grant.error === undefined ? [] : [oneLine(grant.error)]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(handOver ? [`handed over${waitedMs === undefined ? '' : ` after ${formatDuration(waitedMs)} in line`}`] : []),
    ...(skips > 0 ? [`${skips} skipped on it`] : []),
  ].join(', ')
}

const STEPS_MS = [
  100, 200, 500, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400,
].map((step, index) => (index < 3 ? step : step * 1_000))
const TICKS = 6

/** Round numbers of seconds before now. */
function ticksOf(fromMs: number, toMs: number): { at: number; text: string }[] {
  const spanMs = toMs - fromMs
  const stepMs = STEPS_MS.find((step) => spanMs / step <= TICKS) ?? Math.ceil(spanMs / TICKS / 86_400_000) * 86_400_000
  const ticks: { at: number; text: string }[] = []
  for (let agoMs = 0; agoMs < spanMs; agoMs += stepMs)
    ticks.push({
      at: 1 - agoMs / spanMs,
      text: agoMs === 0 ? 'now' : `−${formatDuration(agoMs).replace(/\.0s$/, 's')}`,
    })
  return ticks
}
