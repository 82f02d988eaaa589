import type { ResourceStatus } from '@baton-lock/client'
import type { GrantView, ResourceView, WaiterView } from '@baton-lock/core'
import { formatDuration, oneLine, outcomeText, placed, processesOf, shortJson, whyText } from '@baton-lock/protocol'
import { columns } from './layout.ts'
import { type Colour, type Paint, plain } from './say.ts'

/** How many waiters are shown one by one. */
const WAITERS_SHOWN = 10

type Row = readonly [label: string, ...cells: string[]]

/** Resources for people, each a heading and aligned rows below. Ids are never cut: they are there to be copied. */
export function renderResources(views: readonly ResourceStatus[], paint: Paint = plain): string {
  if (views.length === 0) return 'nothing is held, waited for, referenced or kept\n'
  const live = (view: ResourceView) => Number(view.grants.length + view.waiting > 0)
  const liveFirst = [...views].sort((a, b) => live(b) - live(a))
  return liveFirst.map((view) => renderResource(view, view.nowMs, paint)).join('\n')
}

/** One of them, at a time by the clock that its times go by. */
export function renderResource(view: ResourceView, nowMs: number, paint: Paint = plain): string {
  const lines = resourceLines(view, nowMs, WAITERS_SHOWN)
  return `${[paint('bold', headingOf(view)), ...lines.map((line) => `  ${coloured(line, paint)}`)].join('\n')}\n`
}

/** `RESOURCE`, or `NAMESPACE/RESOURCE` outside of the namespace `default`. */
export function qualified({ namespace, resource }: { readonly namespace: string; readonly resource: string }): string {
  return oneLine(namespace === 'default' ? resource : `${namespace}/${resource}`)
}

export function headingOf({ namespace, resource }: ResourceView): string {
  return oneLine(namespace === 'default' ? resource : `${resource}  (namespace ${namespace})`)
}

/** What is known of a resource, without its heading and without colours, so that it can be cut. */
export function resourceLines(view: ResourceView, nowMs: number, waitersShown: number): string[] {
  const present = [...holders(view, nowMs), ...waiters(view, nowMs, waitersShown), ...paused(view, nowMs)]
  const past = [...kept(view, nowMs), ...recent(view, nowMs)]
  const aligned = columns(labelled([...present, ...past]))
  const lines = [
    ...aligned.slice(0, present.length),
    ...columns(labelled(reasons(view))),
    ...aligned.slice(present.length),
    ...columns(labelled(references(view))),
  ]
  return lines.length === 0 ? [oneLine(`idle in the namespace ${view.namespace}`)] : lines
}

/** The node of a holder or a waiter, with its process where the name does not tell it from another one. */
function namesIn({ grants, waiters }: ResourceView): (actor: GrantView | WaiterView) => string {
  const processes = processesOf<GrantView | WaiterView>([...grants, ...waiters])
  return (actor) => {
    const process = processes.get(actor)
    return process === undefined ? actor.node : `${actor.node} (${process})`
  }
}

function holders(view: ResourceView, nowMs: number): Row[] {
  const nameOf = namesIn(view)
  return view.grants.map((grant) => [
    'holds',
    grant.operation,
    nameOf(grant),
    `for ${formatDuration(nowMs - grant.sinceMs)}`,
    [
      `fence ${grant.fence}`,
      ...(grant.attempt > 1 ? [`attempt ${grant.attempt}`] : []),
      ...(grant.claimed ? lease(grant, nowMs) : [unclaimed(grant, nowMs)]),
      ...revision(grant),
      ...(grant.progress === undefined ? [] : [shortJson(grant.progress)]),
    ].join(', '),
  ])
}

function lease({ expiresAtMs }: GrantView, nowMs: number): string[] {
  return expiresAtMs === undefined ? [] : [`lease ${formatDuration(expiresAtMs - nowMs)}`]
}

function unclaimed({ claimByMs }: GrantView, nowMs: number): string {
  const passesOn = claimByMs === undefined ? '' : `, passes on in ${formatDuration(claimByMs - nowMs)}`
  return `not yet claimed${passesOn}`
}

function waiters(view: ResourceView, nowMs: number, shown: number): Row[] {
  const nameOf = namesIn(view)
  const rows: Row[] = placed(view.waiters.slice(0, shown)).map(({ waiter, position }) => [
    'waits',
    waiter.operation,
    nameOf(waiter),
    `for ${formatDuration(nowMs - waiter.sinceMs)}`,
    [ordinal(position), ...revision(waiter)].join(', '),
  ])
  if (view.waiting > rows.length) rows.push(['waits', '', `and ${view.waiting - rows.length} more`])
  return rows
}

const SUFFIXES: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' }
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' })

/** `1st`, `2nd`, `3rd`, `11th` */
export function ordinal(position: number): string {
  return `${position}${SUFFIXES[ordinals.select(position)]}`
}

/** Also shown for an empty queue: a request made now would wait. */
function paused({ pauses }: ResourceView, nowMs: number): Row[] {
  return pauses.map(({ operation, untilMs, attempt }) => [
    'paused',
    operation,
    '',
    `for ${formatDuration(untilMs - nowMs)}`,
    `then attempt ${attempt}`,
  ])
}

/** Why those who wait do, a queue each; nothing of one of which nothing is known. */
function reasons({ why = [] }: ResourceView): Row[] {
  return why.flatMap((queue): Row[] => {
    const text = whyText(queue)
    return text === '' ? [] : [['why', `${queue.operation}: ${text}`]]
  })
}

function references({ references: nodes }: ResourceView): Row[] {
  return nodes.length === 0 ? [] : [['references', `${nodes.length}: ${nodes.join(', ')}`]]
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

const LABEL_WIDTH = 10

/** A label stands only on the first row of its kind. */
function labelled(rows: readonly Row[]): string[][] {
  return rows.map(([label, ...cells], at) => [(rows[at - 1]?.[0] === label ? '' : label).padEnd(LABEL_WIDTH), ...cells])
}

const COLOURS: Readonly<Record<string, Colour>> = {
  holds: 'green',
  waits: 'yellow',
  paused: 'magenta',
  why: 'yellow',
  kept: 'cyan',
  ended: 'dim',
  references: 'blue',
}

/** A line of `resourceLines` with its label in colour. */
export function coloured(line: string, paint: Paint): string {
  const label = line.slice(0, LABEL_WIDTH)
  const colour = COLOURS[label.trim()]
  return colour === undefined ? line : paint(colour, label) + line.slice(LABEL_WIDTH)
}
