import type { Timeline } from '../../client/api.ts'
import { oneLine } from '../../protocol/index.ts'
import type { Paint } from '../print/paint.ts'
import { count, headerLines, type Server } from './header.ts'
import { helpLines } from './help.ts'
import { type Line, line, painted } from './line.ts'
import { detailLines } from './resource-detail.ts'
import { columnsFor, headingLine, resourceRows } from './resource-rows.ts'
import { widthOf } from './text-width.ts'
import { type Shown, selectedIn, type Ui } from './ui.ts'
import { matches, type Watched } from './watched.ts'

/** All that a screen is made of. */
export interface Picture {
  readonly server: Server
  /** In their order. */
  readonly resources: readonly Watched[]
  /** Of the resource that is open. */
  readonly opened: Watched | undefined
  readonly timeline: Timeline | undefined
  /** False until all of it was read once. */
  readonly isRead: boolean
  /** By the clock that the times of resources go by. */
  readonly nowMs: number
  /** By this machine's monotonic clock. */
  readonly monoMs: number
}

interface Size {
  readonly columns: number
  readonly rows: number
}

/** A screen, and what can be moved about on it. */
export interface Screen extends Shown {
  /** As many as the terminal has, none wider. */
  readonly lines: readonly string[]
  /** What it was drawn by: places may have been out of what there is. */
  readonly ui: Ui
  /** The names of those that can be seen. */
  readonly visible: readonly string[]
}

/** What has changed is shown so for as long. */
const NEW_MS = 2_000

export function drawScreen(picture: Picture, ui: Ui, { columns, rows }: Size, paint: Paint): Screen {
  const header = headerLines(picture.server, columns)
  const room = Math.max(1, rows - header.length - 1)
  const body = bodyOf(picture, ui, { columns, rows: room })
  const lines = [...header, ...body.lines.slice(0, room)]
  while (lines.length < rows - 1) lines.push([])
  lines.push(footerLine(body, picture, columns))
  return { ...body, lines: lines.slice(-rows).map((each) => painted(each, columns, paint)) }
}

interface Body extends Omit<Screen, 'lines'> {
  readonly lines: readonly Line[]
}

function bodyOf(picture: Picture, ui: Ui, size: Size): Body {
  if (ui.screen === 'help') return { lines: helpLines(ui), ui, names: [], visible: [], page: size.rows }
  return ui.screen === 'resource' ? resourceBody(picture, ui, size) : listBody(picture, ui, size)
}

function resourceBody({ opened, timeline, nowMs, isRead }: Picture, ui: Ui, { columns, rows }: Size): Body {
  const visible = ui.opened === undefined ? [] : [ui.opened]
  const [namespace = '', resource = ''] = ui.opened?.split('\n') ?? []
  const title = line(oneLine(namespace === 'default' ? resource : `${resource}  (namespace ${namespace})`), 'bold')
  const state = isRead ? 'nobody holds it, waits for it or uses it, and nothing is kept of it' : 'reading …'
  const lines = opened ? detailLines(opened, { timeline, nowMs, width: columns }) : [line(state, 'dim')]
  const page = Math.max(1, rows - 2)
  const scroll = Math.max(0, Math.min(ui.scroll, lines.length - page))
  return { lines: [[], title, ...lines.slice(scroll)], ui: { ...ui, scroll }, names: visible, visible, page }
}

function listBody({ resources, nowMs, monoMs, isRead }: Picture, ui: Ui, { columns, rows }: Size): Body {
  const found = resources.filter((each) => matches(each, ui.filter))
  const names = found.map(({ name }) => name)
  const at = selectedIn(ui, names)
  const widths = columnsFor(columns)
  const room = Math.max(1, rows - 1)
  const rowsOf = (index: number) => {
    const watched = found[index]!
    const isNew = monoMs - watched.changedAtMs < NEW_MS
    return resourceRows(watched, { nowMs, columns: widths, isSelected: index === at, isNew })
  }
  const top = topOf({ at, top: ui.top, count: found.length, room, heightOf: (index) => rowsOf(index).length })
  const lines: Line[] = [headingLine(widths)]
  let end = top
  while (end < found.length && lines.length <= room) lines.push(...rowsOf(end++))
  if (found.length === 0) lines.push(line(isRead ? nothingText(ui) : 'reading …', 'dim'))
  const visible = names.slice(top, end)
  return { lines, ui: { ...ui, at, top }, names, visible, page: Math.max(1, visible.length - 1) }
}

function nothingText({ filter, showsQuiet }: Ui): string {
  if (filter !== '') return `nothing has '${oneLine(filter)}' in it`
  return showsQuiet ? 'nothing is held, waited for, referenced or kept' : 'nobody holds or waits for anything'
}

interface TopOptions {
  readonly at: number
  readonly top: number
  readonly count: number
  readonly room: number
  readonly heightOf: (index: number) => number
}

/** The first that is shown: as before, unless the selected one would not be seen whole. */
function topOf({ at, top, count: total, room, heightOf }: TopOptions): number {
  // One takes a line at least.
  const first = Math.max(0, Math.min(top, at, total - 1), at - room)
  let used = 0
  for (let index = first; index <= at && index < total; index++) used += heightOf(index)
  let next = first
  while (used > room && next < at) used -= heightOf(next++)
  return next
}

function footerLine({ ui, names, visible }: Body, { resources }: Picture, width: number): Line {
  if (ui.isTyping)
    return [
      { text: `filter: ${oneLine(ui.filter)}` },
      { text: '█' },
      { text: '  Enter keeps it, Escape clears it', colour: 'dim' },
    ]
  if (ui.screen === 'help') return line('Escape goes back', 'dim')
  if (ui.screen === 'resource') return line(`↑↓ scroll  ${ui.isAlone ? '' : 'Escape back  '}? help  q quit`, 'dim')
  const some =
    names.length === resources.length ? count(names.length) : `${count(names.length)} of ${count(resources.length)}`
  const filter = ui.filter === '' ? '' : `  filter '${oneLine(ui.filter)}'`
  const shown = `${some}${filter}${visible.length < names.length ? `, ${count(ui.top + 1)} to ${count(ui.top + visible.length)}` : ''}`
  const keys = '↑↓ Enter  / filter  a all  ? help  q quit'
  const gap = Math.max(2, width - widthOf(shown) - widthOf(keys))
  return [{ text: shown }, { text: ' '.repeat(gap) }, { text: keys, colour: 'dim' }]
}
