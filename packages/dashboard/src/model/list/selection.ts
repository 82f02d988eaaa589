import { nameOf, type ResourceName } from '../name.ts'
import type { Row } from '../resource/why.ts'
import { type Filter, isIn, matcher, STATES, type StateFilter } from './filter.ts'
import { BY_URGENCY, type Order, ordered } from './order.ts'

/** What a filter leaves of the rows, in order, and what there is to choose from. */
export interface Selection {
  readonly names: readonly ResourceName[]
  /** How many there are of each state, of those that are as the filter wants them but for their state. */
  readonly counts: Readonly<Record<StateFilter, number>>
  readonly namespaces: readonly string[]
  readonly operations: readonly string[]
  /** Of all rows, whatever the filter wants: the most urgent first. */
  readonly stuck: readonly ResourceName[]
}

export const NOTHING_SELECTED: Selection = {
  names: [],
  counts: { all: 0, stuck: 0, held: 0, waiting: 0, kept: 0, referenced: 0 },
  namespaces: [],
  operations: [],
  stuck: [],
}

interface SelectOptions {
  readonly filter: Filter
  readonly order: Order
  readonly nowMs: number
}

export function select(rows: readonly Row[], { filter, order, nowMs }: SelectOptions): Selection {
  const isMeant = matcher({ ...filter, state: 'all' }, nowMs)
  const counts = { ...NOTHING_SELECTED.counts }
  const chosen: Row[] = []
  const stuck: Row[] = []
  const namespaces = new Set<string>()
  const operations = new Set<string>()
  for (const row of rows) {
    const { view } = row
    namespaces.add(view.namespace)
    for (const list of [view.grants, view.queues, view.kept, view.recent])
      for (const { operation } of list) operations.add(operation)
    if (isIn('stuck', row, nowMs)) stuck.push(row)
    if (!isMeant(row)) continue
    for (const state of STATES) if (isIn(state, row, nowMs)) counts[state]++
    if (isIn(filter.state, row, nowMs)) chosen.push(row)
  }
  return {
    names: ordered(chosen, order, nowMs).map(({ view }) => nameOf(view)),
    counts,
    namespaces: [...namespaces].sort(),
    operations: [...operations].sort(),
    stuck: ordered(stuck, BY_URGENCY, nowMs).map(({ view }) => nameOf(view)),
  }
}
