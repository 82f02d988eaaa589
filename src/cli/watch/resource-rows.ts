import type { GrantView, QueueWait, ResourceView } from '../../core/index.ts'
import { formatDuration, isStuck, oneLine, whyText } from '../../protocol/index.ts'
import type { Colour } from '../print/paint.ts'
import { aged } from './aged.ts'
import type { Line, Span } from './line.ts'
import { cutMiddle, pad, padLeft } from './text-width.ts'
import type { Watched } from './watched.ts'

/** Where the columns of the list are, for a terminal of some width. */
interface Columns {
  readonly resource: number
  readonly operation: number
  readonly holder: number
  /** Those that a narrow terminal has no room for are left out. */
  readonly lease: number
  readonly held: number
}

const MARKS = 2
const LINE = 5
const WAITS = 7
const HELD = 14
const LEASE = 7
/** Below this, a name could not be told from others. */
const NAMES_MIN = 34

export function columnsFor(width: number): Columns {
  const fixed = MARKS + LINE + WAITS + 4
  const held = width - fixed - (HELD + 1) >= NAMES_MIN ? HELD : 0
  const lease = width - fixed - (HELD + 1) - (LEASE + 1) >= NAMES_MIN ? LEASE : 0
  const left = Math.max(3, width - fixed - (held && held + 1) - (lease && lease + 1))
  const operation = Math.min(Math.floor(left / 3), Math.max(9, Math.min(16, Math.floor(left * 0.19))))
  const holder = Math.min(28, Math.floor(left * 0.3))
  return { operation, holder, held, lease, resource: left - operation - holder }
}

interface Cells {
  readonly marks: string
  readonly resource: string
  readonly operation: string
  readonly holder: string
  readonly held: string
  readonly lease: string
  readonly line: string
  readonly waits: string
}

export function headingLine(columns: Columns): Line {
  const cells = { marks: '', resource: 'RESOURCE', operation: 'OPERATION', holder: 'HOLDER', held: 'HELD (USUAL)' }
  return rowLine({ ...cells, lease: 'LEASE', line: 'LINE', waits: 'WAITS' }, columns, () => 'dim')
}

type ColourOf = (cell: keyof Cells) => Colour | undefined

function rowLine(cells: Cells, columns: Columns, colourOf: ColourOf): Line {
  const { resource, operation, holder, held, lease } = columns
  const texts: readonly [keyof Cells, string][] = [
    ['marks', pad(cells.marks, MARKS)],
    ['resource', pad(cutMiddle(cells.resource, resource), resource)],
    ['operation', pad(cells.operation, operation)],
    ['holder', pad(cutMiddle(cells.holder, holder), holder)],
    ['held', pad(cells.held, held)],
    ['lease', padLeft(cells.lease, lease)],
    ['line', padLeft(cells.line, LINE)],
    ['waits', padLeft(cells.waits, WAITS)],
  ]
  const shown = texts.filter(([name]) => (name === 'held' ? held : name === 'lease' ? lease : 1) > 0)
  return shown.flatMap(([name, text], index): Span[] => {
    const span = { text, colour: text.trim() === '' ? undefined : colourOf(name) }
    return index < 2 ? [span] : [{ text: ' ' }, span]
  })
}

interface RowOptions {
  /** By the clock that the times of the resource go by. */
  readonly nowMs: number
  readonly columns: Columns
  readonly isSelected: boolean
  /** It was seen to change just now. */
  readonly isNew: boolean
}

/** A resource in the list: a line an operation, and one that says why somebody waits where the others do not. */
export function resourceRows({ status }: Watched, options: RowOptions): Line[] {
  const { nowMs, columns, isSelected, isNew } = options
  const why = (status.why ?? []).map((queue) => aged(queue, nowMs - status.nowMs))
  const isUrgent = isStuck(why)
  const mark = isUrgent ? '!' : isNew ? '*' : ' '
  const name = oneLine(status.namespace === 'default' ? status.resource : `${status.namespace}/${status.resource}`)
  const colourOf: ColourOf = (cell) => {
    if (cell === 'resource' && isSelected) return 'inverse'
    if (isUrgent && (cell === 'marks' || cell === 'resource')) return 'red'
    if (isNew) return 'bold'
    return COLOURS[cell]
  }
  return operationsOf(status).flatMap((operation, index): Line[] => {
    const isFirst = index === 0
    const marks = `${isSelected && isFirst ? '>' : ' '}${isFirst ? mark : ' '}`
    const queue = why.find((each) => each.operation === operation)
    const cells = { marks, resource: isFirst ? name : '', ...cellsOf(status, operation, { nowMs, queue }) }
    const row = rowLine(cells, columns, colourOf)
    return queue && tellsMore(queue) ? [row, whyLine(queue, columns)] : [row]
  })
}

const COLOURS: Readonly<Partial<Record<keyof Cells, Colour>>> = { holder: 'green', line: 'yellow', waits: 'yellow' }

/** Those that something goes on with, the held ones first; an empty one where nothing does. */
function operationsOf({ grants, queues, pauses }: ResourceView): string[] {
  const names = new Set([...grants, ...queues, ...pauses].map(({ operation }) => operation))
  return names.size === 0 ? [''] : [...names]
}

function cellsOf(
  status: ResourceView,
  operation: string,
  { nowMs, queue }: { readonly nowMs: number; readonly queue: QueueWait | undefined },
): Omit<Cells, 'marks' | 'resource'> {
  const grant = status.grants.find((each) => each.operation === operation)
  const waiting = status.queues.find((each) => each.operation === operation)?.waiting ?? 0
  const oldest = status.waiters.find((each) => each.operation === operation)
  return {
    operation: oneLine(operation),
    ...holderCells(status, { grant, operation, nowMs, queue }),
    line: waiting === 0 ? '' : `${waiting}`,
    waits: oldest ? formatDuration(nowMs - oldest.sinceMs) : '',
  }
}

interface HolderOptions {
  readonly grant: GrantView | undefined
  readonly operation: string
  readonly nowMs: number
  readonly queue: QueueWait | undefined
}

function holderCells(
  status: ResourceView,
  { grant, operation, nowMs, queue }: HolderOptions,
): Pick<Cells, 'holder' | 'held' | 'lease'> {
  if (grant?.claimByMs !== undefined) {
    const held = `claims ${formatDuration(grant.claimByMs - nowMs)}`
    return { holder: `(${oneLine(grant.node)})`, held, lease: '' }
  }
  if (grant) {
    const { node, sinceMs, expiresAtMs } = grant
    const usualMs = queue?.reasons.find((each) => each.why === 'held' && each.operation === operation)
    const usual =
      usualMs?.why === 'held' && usualMs.usualMs !== undefined ? ` (${formatDuration(usualMs.usualMs)})` : ''
    const lease = expiresAtMs === undefined ? '' : formatDuration(expiresAtMs - nowMs)
    return { holder: oneLine(node), held: `${formatDuration(nowMs - sinceMs)}${usual}`, lease }
  }
  const pause = status.pauses.find((each) => each.operation === operation)
  if (pause) return { holder: 'paused', held: `${formatDuration(pause.untilMs - nowMs)} more`, lease: '' }
  return { holder: operation === '' ? quietText(status) : '', held: '', lease: '' }
}

/** What there is of a resource that nobody holds or waits for. */
function quietText({ references, kept }: ResourceView): string {
  if (kept.length > 0) return `kept: ${kept.map(({ operation }) => oneLine(operation)).join(', ')}`
  return references.length > 0 ? `${references.length} ${references.length === 1 ? 'reference' : 'references'}` : 'idle'
}

/** That it is held, and by whom, stands in the row itself. */
function tellsMore({ operation, reasons }: QueueWait): boolean {
  return reasons.some((reason) => reason.why === 'silent' || reason.why === 'paused' || reason.operation !== operation)
}

function whyLine(queue: QueueWait, { resource }: Columns): Line {
  const indent = Math.min(6, MARKS + resource)
  return [{ text: ' '.repeat(indent) }, { text: whyText(queue), colour: 'yellow' }]
}
