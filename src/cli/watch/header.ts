import { formatDuration, type Overview, type OverviewPoint, oneLine, type Tally } from '../../protocol/index.ts'
import { type Line, line, type Span } from './line.ts'
import { widthOf } from './text-width.ts'

/** What is known of whoever is watched. */
export interface Server {
  /** Where it is, as the user named it; no password is in it. */
  readonly place: string
  readonly namespace: string | undefined
  readonly overview: Overview | undefined
  /** Since when nothing was heard, in milliseconds, and why; nothing while all is well. */
  readonly away: { readonly forMs: number; readonly why: string } | undefined
  /** What the SDK has said just now. */
  readonly notice?: string | undefined
}

/** Who is watched, how much there is, and how fast it goes: three lines. */
export function headerLines(server: Server, width: number): Line[] {
  return [firstLine(server, width), countsLine(server), ratesLine(server, width)]
}

function firstLine({ place, namespace, overview, away }: Server, width: number): Line {
  const version = overview && overview.version !== '' ? ` ${oneLine(overview.version)}` : ''
  const where = [oneLine(place), ...(namespace === undefined ? [] : [`namespace ${oneLine(namespace)}`])]
  const store = overview ? [`store ${oneLine(overview.storeId).slice(0, 8)}`] : []
  const left = [`baton${version}`, ...where, ...store].join('  ')
  const state: Span = away
    ? { text: `no answer for ${formatDuration(away.forMs)}`, colour: 'red' }
    : { text: 'live', colour: 'green' }
  const room = width - widthOf(state.text)
  const gap = Math.max(2, room - widthOf(left))
  const shown = widthOf(left) + 2 <= room ? left : [`baton${version}`, ...where].join('  ')
  return [{ text: shown, colour: 'bold' }, { text: ' '.repeat(shown === left ? gap : 2) }, state]
}

function countsLine({ overview, away, notice }: Server): Line {
  if (away) return line(oneLine(away.why), 'red')
  if (notice !== undefined) return line(oneLine(notice), 'yellow')
  if (!overview?.counts)
    return overview ? line(`since ${formatDuration(overview.nowMs - overview.sinceMs)}`, 'dim') : []
  const { resources, grants, waiters, sessions } = overview.counts
  const up = `up ${formatDuration(overview.nowMs - overview.sinceMs)}`
  return line(
    `${count(resources)} resources  ${count(grants)} held  ${count(waiters)} waiting  ${count(sessions)} sessions  ${up}`,
  )
}

/** So far back rates are counted. */
const RATE_MS = 60_000

function ratesLine({ overview }: Server, width: number): Line {
  if (!overview || overview.points.length === 0) return []
  const { points, stepMs, nowMs } = overview
  const recent = points.filter(({ atMs }) => atMs > nowMs - RATE_MS - stepMs)
  const forMs = Math.max(1_000, nowMs - (recent[0]?.atMs ?? nowMs))
  const rate = (what: keyof Tally) =>
    perSecond(
      recent.reduce((sum, point) => sum + point[what], 0),
      forMs,
    )
  const parts = [
    `${rate('grants')} grants/s`,
    `${rate('handOvers')} hand-overs/s`,
    `${rate('skips')} skips/s`,
    `${rate('failures')} failures/s`,
    ...waitedParts(recent),
  ]
  let text = ''
  for (const part of parts) if (widthOf(text) + widthOf(part) + 2 <= width) text += text === '' ? part : `  ${part}`
  return line(text, 'dim')
}

/** Of the last piece in which somebody was granted or told. */
function waitedParts(points: readonly OverviewPoint[]): string[] {
  const waited = points.findLast(({ waitedMs }) => waitedMs !== undefined)?.waitedMs
  return waited ? [`waited p50 ${formatDuration(waited.p50)} p99 ${formatDuration(waited.p99)}`] : []
}

function perSecond(amount: number, forMs: number): string {
  const rate = amount / (forMs / 1_000)
  return rate >= 100 ? count(Math.round(rate)) : rate.toFixed(1)
}

/** `12,345` */
export function count(number: number): string {
  return number.toLocaleString('en')
}
