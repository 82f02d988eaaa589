import type { ResourceStatus } from '@baton-lock/client'
import { formatDuration, isStuck, oneLine, whyText } from '@baton-lock/protocol'
import { cut, cutMiddle, pad, padLeft } from '../print/layout.ts'
import { coloured, headingOf, qualified, resourceLines } from '../print/resource-view.ts'
import type { Colour, Paint } from '../print/say.ts'

/** What `baton status --watch` shows. */
export interface Picture {
  /** The URL of the server or the store, without a password. */
  readonly place: string
  readonly namespace: string | undefined
  readonly statuses: readonly ResourceStatus[]
  /** Whether one resource is watched, and not all of them. */
  readonly isSingle: boolean
  /** What is wrong at the moment, e.g. that the server does not answer. */
  readonly trouble: string | undefined
}

interface Size {
  readonly columns: number
  readonly rows: number
}

/** At most so many lines as the terminal has rows, none wider than it. */
export function drawPicture(picture: Picture, { columns, rows }: Size, paint: Paint): string[] {
  const { place, namespace, trouble, statuses, isSingle } = picture
  const where = [place, ...(namespace === undefined ? [] : [`namespace ${namespace}`])]
  const text = oneLine([...where, ...(isSingle ? [] : [countsText(statuses)])].join('  '))
  const head = [paint('bold', cut(text, columns)), paint('red', cut(oneLine(trouble ?? ''), columns))]
  const room = { columns, rows: Math.max(0, rows - head.length) }
  const body = isSingle ? drawResource(statuses[0], room, paint) : drawTable(statuses, room, paint)
  return [...head, ...body].slice(0, rows)
}

function countsText(statuses: readonly ResourceStatus[]): string {
  const sum = (count: (status: ResourceStatus) => number) => statuses.reduce((total, each) => total + count(each), 0)
  const counts = {
    held: sum(({ grants }) => grants.length),
    waiting: sum(({ waiting }) => waiting),
    stuck: sum(({ why = [] }) => (isStuck(why) ? 1 : 0)),
  }
  return Object.entries(counts)
    .map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
    .join('  ')
}

function drawResource(status: ResourceStatus | undefined, { columns, rows }: Size, paint: Paint): string[] {
  if (!status) return []
  // The other rows are for holders, reasons and past grants.
  const waitersShown = Math.max(1, rows - 10)
  const lines = resourceLines(status, status.nowMs, waitersShown).map((line) => cut(line, columns - 2))
  const heading = paint('bold', cut(headingOf(status), columns))
  return [heading, ...lines.map((line) => (line === '' ? '' : `  ${coloured(line, paint)}`))]
}

function drawTable(statuses: readonly ResourceStatus[], { columns, rows }: Size, paint: Paint): string[] {
  if (statuses.length === 0) return ['nobody holds or waits for anything']
  const layout = layoutFor(columns)
  const lines = [paint('dim', cut(rowText(HEADINGS, layout), columns))]
  const sorted = statuses.map(withUrgency).sort(byUrgency)
  for (const [index, { status, rank }] of sorted.entries()) {
    const colour = COLOURS[rank]
    const own = rowsOf(status).map((row) => (typeof row === 'string' ? `      ${row}` : rowText(row, layout)))
    const left = sorted.length - index
    // One row is kept for the number of those that do not fit.
    if (lines.length + own.length + (left > 1 ? 1 : 0) > rows) {
      return [...lines, paint('dim', cut(`… and ${left.toLocaleString('en')} more`, columns))]
    }
    for (const text of own) lines.push(colour === undefined ? cut(text, columns) : paint(colour, cut(text, columns)))
  }
  return lines
}

interface Urgency {
  readonly status: ResourceStatus
  /** 0: stuck, 1: waited for, 2: held, or paused after a failure. */
  readonly rank: 0 | 1 | 2
  readonly sinceMs: number
}

const COLOURS: readonly (Colour | undefined)[] = ['red', 'yellow', undefined]

function withUrgency(status: ResourceStatus): Urgency {
  const { grants, waiters, waiting, why = [] } = status
  const heldSinceMs = Math.min(...grants.map(({ sinceMs }) => sinceMs))
  const sinceMs = waiters[0]?.sinceMs ?? heldSinceMs
  return { status, rank: isStuck(why) ? 0 : waiting > 0 ? 1 : 2, sinceMs }
}

/** Among equals the oldest first. */
function byUrgency(a: Urgency, b: Urgency): number {
  if (a.rank !== b.rank) return a.rank - b.rank
  if (a.sinceMs !== b.sinceMs) return a.sinceMs - b.sinceMs
  return a.status.resource < b.status.resource ? -1 : 1
}

interface Row {
  readonly mark: string
  readonly resource: string
  readonly operation: string
  readonly holder: string
  readonly held: string
  readonly waiting: string
  readonly longest: string
}

const HEADINGS: Row = {
  mark: '',
  resource: 'RESOURCE',
  operation: 'OPERATION',
  holder: 'HOLDER',
  held: 'HELD',
  waiting: 'WAITING',
  longest: 'LONGEST',
}

/** A row for each operation, and below it why others wait, unless the row says it all. */
function rowsOf(status: ResourceStatus): (Row | string)[] {
  const { grants, queues, pauses, waiters, nowMs, why = [] } = status
  const operations = new Set([...grants, ...queues, ...pauses].map(({ operation }) => operation))
  const mark = isStuck(why) ? '!' : ''
  return [...operations].flatMap((operation, index): (Row | string)[] => {
    const ofThis = (each: { readonly operation: string }) => each.operation === operation
    const grant = grants.find(ofThis)
    const isPaused = !grant && pauses.some(ofThis)
    const oldest = waiters.find(ofThis)
    const queue = why.find(ofThis)
    const row = {
      mark: index === 0 ? mark : '',
      resource: index === 0 ? qualified(status) : '',
      operation: oneLine(operation),
      // In brackets: it was granted to this node, which has not claimed it yet.
      holder: grant ? oneLine(grant.claimed ? grant.node : `(${grant.node})`) : isPaused ? 'paused' : '',
      held: grant ? formatDuration(nowMs - grant.sinceMs) : '',
      waiting: `${queues.find(ofThis)?.waiting ?? ''}`,
      longest: oldest ? formatDuration(nowMs - oldest.sinceMs) : '',
    }
    const [first, ...others] = queue?.reasons ?? []
    const saysMore =
      first &&
      (others.length > 0 || first.why !== 'held' || first.operation !== operation || first.usualMs !== undefined)
    return queue && saysMore ? [row, whyText(queue)] : [row]
  })
}

interface Layout {
  readonly resource: number
  readonly operation: number
  readonly holder: number
  /** A narrow terminal has no room for the times. */
  readonly hasTimes: boolean
}

const MARK = 2
const NUMBER = 8
const NARROW = 60

function layoutFor(columns: number): Layout {
  const hasTimes = columns >= NARROW
  const names = Math.max(3, columns - MARK - NUMBER * (hasTimes ? 3 : 1) - 2)
  const operation = Math.min(16, Math.floor(names * 0.22))
  const holder = Math.min(28, Math.floor(names * 0.3))
  return { operation, holder, resource: names - operation - holder, hasTimes }
}

function rowText(row: Row, { resource, operation, holder, hasTimes }: Layout): string {
  const names = [
    pad(cutMiddle(row.resource, resource), resource),
    pad(row.operation, operation),
    pad(row.holder, holder),
  ]
  const numbers = hasTimes ? [row.held, row.waiting, row.longest] : [row.waiting]
  return (pad(row.mark, MARK) + names.join(' ') + numbers.map((text) => padLeft(text, NUMBER)).join('')).trimEnd()
}
