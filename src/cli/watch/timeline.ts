import { formatDuration, oneLine, outcomeText, type PastGrant } from '../../protocol/index.ts'
import type { Colour } from '../print/paint.ts'
import { type Line, line } from './line.ts'
import { cutMiddle, pad, padLeft } from './text-width.ts'

/** So many of the last ones. */
const SHOWN = 20
const FENCE = 6
const OPERATION = 8
const NODE = 10
const HELD = 7
const OUTCOME = 21

/** The last grants of a resource, the newest first, each a bar on the same stretch of time. */
export function timelineLines(grants: readonly PastGrant[], nowMs: number, width: number): Line[] {
  const shown = grants.slice(-SHOWN)
  const fromMs = Math.min(nowMs, ...shown.map(({ grantedAtMs }) => grantedAtMs))
  const bar = Math.max(8, width - 2 - FENCE - OPERATION - NODE - HELD - OUTCOME - 5)
  const stretch = { fromMs, toMs: Math.max(nowMs, fromMs + 1), width: bar }
  const indent = ' '.repeat(2 + FENCE + OPERATION + NODE + 3)
  const ago = `-${formatDuration(nowMs - fromMs)}`
  const axis = line(`${indent}${ago}${padLeft('now', Math.max(4, bar - ago.length))}`, 'dim')
  return [axis, ...shown.toReversed().map((grant) => grantLine(grant, stretch))]
}

interface Stretch {
  readonly fromMs: number
  readonly toMs: number
  /** In cells. */
  readonly width: number
}

function grantLine(grant: PastGrant, stretch: Stretch): Line {
  const { fence, operation, node, grantedAtMs, endedAtMs = stretch.toMs } = grant
  const names = `${padLeft(`${fence}`, FENCE)} ${pad(oneLine(operation), OPERATION)} ${pad(cutMiddle(oneLine(node), NODE), NODE)} `
  const held = padLeft(formatDuration(endedAtMs - grantedAtMs), HELD)
  const colour = colourOf(grant)
  return [
    { text: `  ${names}` },
    { text: barOf(grant, stretch), colour },
    { text: ` ${held} ` },
    { text: endText(grant), colour },
  ]
}

/** From the grant to its end; lighter until it was claimed. It is one cell at least, wherever it is. */
function barOf(
  { grantedAtMs, claimedAtMs = grantedAtMs, endedAtMs }: PastGrant,
  { fromMs, toMs, width }: Stretch,
): string {
  const cell = (ms: number) => Math.round(((Math.min(ms, toMs) - fromMs) / (toMs - fromMs)) * width)
  const start = Math.min(cell(grantedAtMs), width - 1)
  const end = Math.max(start + 1, cell(endedAtMs ?? toMs))
  const claimed = Math.min(Math.max(start, cell(claimedAtMs)), end - 1)
  return pad(`${' '.repeat(start)}${'░'.repeat(claimed - start)}${'█'.repeat(end - claimed)}`, width)
}

function endText({ operation, outcome, error = '', endedAtMs, skips, waitedMs }: PastGrant): string {
  const told = skips > 0 ? `, ${skips} skipped` : ''
  const waited = waitedMs === undefined || waitedMs < 1_000 ? '' : `, waited ${formatDuration(waitedMs)}`
  if (outcome !== undefined) return `${outcomeText(operation, outcomeOf(outcome, error))}${told}${waited}`
  return `${endedAtMs === undefined ? 'holds it' : 'ended'}${waited}`
}

function outcomeOf(outcome: NonNullable<PastGrant['outcome']>, error: string): Parameters<typeof outcomeText>[1] {
  return outcome === 'success' || outcome === 'cancelled' ? { outcome } : { outcome, error }
}

const COLOURS: Readonly<Record<NonNullable<PastGrant['outcome']>, Colour>> = {
  success: 'green',
  failure: 'red',
  expired: 'magenta',
  revoked: 'magenta',
  cancelled: 'dim',
}

function colourOf({ outcome, endedAtMs }: PastGrant): Colour {
  if (outcome !== undefined) return COLOURS[outcome]
  return endedAtMs === undefined ? 'cyan' : 'dim'
}
