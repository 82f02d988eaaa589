import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { BY_URGENCY, OrderBy } from '../../model/list/order.ts'
import { dashboard, listRoute, narrow } from '../state.ts'
import { RowView } from './row.tsx'

const ROW_PX = { wide: 52, narrow: 92 }
const NARROW = '(max-width: 860px)'
/** Rows beyond the edges, so that nothing is blank while one scrolls. */
const BEYOND = 8

const COLUMNS: readonly { readonly name: string; readonly by?: OrderBy; readonly class: string }[] = [
  { name: 'State', by: 'urgency', class: 'c-state' },
  { name: 'Resource', by: 'resource', class: 'c-resource' },
  { name: 'Holder', class: 'c-holder' },
  { name: 'Held', by: 'held', class: 'c-held' },
  { name: 'Lease left', by: 'lease', class: 'c-lease' },
  { name: 'Waiting', by: 'waiting', class: 'c-waiting' },
  { name: 'Used by', by: 'references', class: 'c-references' },
  { name: 'Kept', class: 'c-kept' },
  { name: 'Progress', class: 'c-progress' },
]

/** The list: however long it is, only what is on screen is made. The window itself scrolls. */
export function ResourceList() {
  const body = useRef<HTMLDivElement>(null)
  const range = useSignal({ from: 0, to: 30 })
  const rowPx = useSignal(ROW_PX.wide)
  const { names } = dashboard.selection.value
  const measure = () => {
    const top = body.current?.getBoundingClientRect().top ?? 0
    const count = dashboard.selection.value.names.length
    const from = Math.max(0, Math.floor(-top / rowPx.value) - BEYOND)
    const to = Math.min(count, Math.ceil((innerHeight - top) / rowPx.value) + BEYOND)
    if (from !== range.value.from || to !== range.value.to) range.value = { from, to }
  }
  useEffect(() => {
    const media = matchMedia(NARROW)
    const adapt = () => {
      rowPx.value = media.matches ? ROW_PX.narrow : ROW_PX.wide
      measure()
    }
    adapt()
    media.addEventListener('change', adapt)
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure)
    return () => {
      media.removeEventListener('change', adapt)
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
      dashboard.refresher.show([])
    }
  }, [])
  useEffect(measure, [names.length])
  useSignalEffect(() => {
    const { from, to } = range.value
    dashboard.refresher.show(dashboard.selection.value.names.slice(from, to))
  })
  const { from, to } = range.value
  const shown = names.slice(from, to)
  return (
    <div
      class="table"
      role="table"
      aria-label="Resources"
      aria-rowcount={names.length + 1}
      aria-colcount={COLUMNS.length}
    >
      <Head />
      <div
        ref={body}
        class="rows"
        role="rowgroup"
        style={{ height: `${names.length * rowPx.value}px` }}
        onKeyDown={(event) => onListKey(event, rowPx.value)}
        onPointerMove={() => dashboard.pointed()}
      >
        {shown.map((name, index) => (
          <RowView key={name} name={name} index={from + index} rowPx={rowPx.value} />
        ))}
      </div>
      {names.length === 0 && <Empty />}
    </div>
  )
}

function Head() {
  const { order } = listRoute()
  const turn = (by: OrderBy) => narrow({ order: { by, isReversed: order.by === by && !order.isReversed } })
  return (
    <div class="head" role="rowgroup">
      <div class="row-head" role="row" aria-rowindex={1}>
        {COLUMNS.map(({ name, by, class: column }) => (
          <div
            key={name}
            class={column}
            role="columnheader"
            aria-sort={by && order.by === by ? sortOf(order) : undefined}
          >
            {by ? (
              <button type="button" onClick={() => turn(by)}>
                {name}
                <span class="arrow" aria-hidden="true">
                  {order.by === by ? (order.isReversed ? '↑' : '↓') : ''}
                </span>
              </button>
            ) : (
              name
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

function sortOf({ by, isReversed }: typeof BY_URGENCY): 'ascending' | 'descending' {
  return (by === 'resource' || by === 'lease') !== isReversed ? 'ascending' : 'descending'
}

/** Nothing is there: why, and what one might do. */
function Empty() {
  const { state } = dashboard.listing.loading.value
  const isEmpty = dashboard.rows.size === 0
  return (
    <div class="empty" role="row">
      <div role="cell">
        {state === 'reading' ? (
          'Reading …'
        ) : isEmpty ? (
          <>
            <strong>Nothing is held, waited for, used or kept.</strong>
            <span>
              Try <code>baton lock hello -- sleep 30</code>, and watch this page.
            </span>
          </>
        ) : (
          <strong>Nothing is as the filter wants it.</strong>
        )}
      </div>
    </div>
  )
}

const STEPS: Readonly<Record<string, (page: number) => number>> = {
  ArrowDown: () => 1,
  ArrowUp: () => -1,
  PageDown: (page) => page,
  PageUp: (page) => -page,
  Home: () => -Infinity,
  End: () => Infinity,
}

/** From row to row, also to those that are not made yet. */
function onListKey(event: KeyboardEvent, rowPx: number): void {
  const step = STEPS[event.key]
  const row = (event.target as HTMLElement).closest<HTMLElement>('.row')
  const rows = row?.parentElement
  if (!step || !row || !rows) return
  event.preventDefault()
  const last = dashboard.selection.value.names.length - 1
  const page = Math.max(1, Math.floor(innerHeight / rowPx) - 4)
  const next = Math.min(last, Math.max(0, Number(row.dataset.index) + step(page)))
  const top = rows.getBoundingClientRect().top + next * rowPx
  const margin = 2 * rowPx
  if (top < margin + 60) scrollBy({ top: top - margin - 60 })
  else if (top > innerHeight - margin) scrollBy({ top: top - innerHeight + margin })
  const focus = () => rows.querySelector<HTMLElement>(`.row[data-index="${next}"] a`)?.focus({ preventScroll: true })
  requestAnimationFrame(() => requestAnimationFrame(focus))
}
