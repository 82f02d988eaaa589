import type { ResourceView } from '../../core/index.ts'
import { oneLine, outcomeText, shortJson } from '../../protocol/index.ts'
import { formatDuration } from '../duration.ts'
import { columns } from './columns.ts'
import { type Paint, plain } from './paint.ts'

/** How many waiters are shown one by one. */
const WAITERS_SHOWN = 10

type Row = readonly [label: string, ...cells: string[]]

/** Resources for people, each a heading and aligned rows below. Ids are never cut: they are there to be copied. */
export function renderResources(views: readonly ResourceView[], nowMs: number, paint: Paint = plain): string {
  if (views.length === 0) return 'nothing is held, waited for, referenced or kept\n'
  const live = (view: ResourceView) => Number(view.grants.length + view.waiting > 0)
  const liveFirst = [...views].sort((a, b) => live(b) - live(a))
  return liveFirst.map((view) => renderResource(view, nowMs, paint)).join('\n')
}

export function renderResource(view: ResourceView, nowMs: number, paint: Paint = plain): string {
  const heading = view.namespace === 'default' ? view.resource : `${view.resource}  (namespace ${view.namespace})`
  const rows = [...holders(view, nowMs), ...waiters(view, nowMs), ...kept(view, nowMs), ...recent(view, nowMs)]
  const references: Row[] =
    view.references.length === 0 ? [] : [['references', `${view.references.length}: ${view.references.join(', ')}`]]
  const lines = [...columns(labelled(rows)), ...columns(labelled(references), ' '.repeat(2))]
  if (lines.length === 0) lines.push(oneLine(`idle in the namespace ${view.namespace}`))
  return `${[paint('bold', oneLine(heading)), ...lines.map((line) => `  ${coloured(line, paint)}`)].join('\n')}\n`
}

function holders({ grants }: ResourceView, nowMs: number): Row[] {
  return grants.map((grant) => [
    'holds',
    grant.operation,
    grant.node,
    `for ${formatDuration(nowMs - grant.sinceMs)}`,
    [
      `fence ${grant.fence}`,
      ...(grant.attempt > 1 ? [`attempt ${grant.attempt}`] : []),
      ...(grant.claimed ? [] : ['not yet claimed']),
      ...revision(grant),
      ...(grant.progress === undefined ? [] : [shortJson(grant.progress)]),
    ].join(', '),
  ])
}

function waiters({ waiters, waiting }: ResourceView, nowMs: number): Row[] {
  const rows: Row[] = waiters
    .slice(0, WAITERS_SHOWN)
    .map((waiter) => [
      'waits',
      waiter.operation,
      waiter.node,
      `for ${formatDuration(nowMs - waiter.sinceMs)}`,
      revision(waiter).join(''),
    ])
  if (waiting > rows.length) rows.push(['waits', '', `and ${waiting - rows.length} more`])
  return rows
}

function kept(view: ResourceView, nowMs: number): Row[] {
  return view.kept.map((success) => [
    'kept',
    success.operation,
    success.node,
    `${formatDuration(nowMs - success.atMs)} ago`,
    [
      `fence ${success.fence}`,
      `for ${formatDuration(success.untilMs - nowMs)} more`,
      ...revision(success),
      ...(success.result === undefined ? [] : [shortJson(success.result)]),
      ...(success.resultOmitted ? ['result omitted'] : []),
    ].join(', '),
  ])
}

/** A success that is kept has its own row already. */
function recent(view: ResourceView, nowMs: number): Row[] {
  const isKept = (fence: number) => view.kept.some((success) => success.fence === fence)
  return view.recent
    .filter(({ fence }) => !isKept(fence))
    .map((ended) => [
      'ended',
      ended.operation,
      ended.node,
      `${formatDuration(nowMs - ended.atMs)} ago`,
      [`fence ${ended.fence}`, outcomeText(ended.operation, ended.outcome), ...revision(ended)].join(', '),
    ])
}

function revision({ revision }: { readonly revision?: string }): string[] {
  return revision === undefined ? [] : [`revision ${revision}`]
}

/** A label stands only on the first row of its kind. */
function labelled(rows: readonly Row[]): string[][] {
  return rows.map(([label, ...cells], at) => [(rows[at - 1]?.[0] === label ? '' : label).padEnd(10), ...cells])
}

function coloured(line: string, paint: Paint): string {
  const label = line.slice(0, 10)
  const colour = ({ holds: 'green', waits: 'yellow', kept: 'cyan', ended: 'dim', references: 'blue' } as const)[
    label.trim()
  ]
  return colour === undefined ? line : paint(colour, label) + line.slice(10)
}
