import { isStuck } from '@baton-lock/protocol/text/why-text'
import { type Row, whyNow } from '../resource/why.ts'

export const STATES = ['all', 'stuck', 'held', 'waiting', 'kept', 'referenced'] as const
export type StateFilter = (typeof STATES)[number]

/** What is wanted of all that there is; empty texts want everything. */
export interface Filter {
  /** Words that an id, a namespace or a holder has in it. */
  readonly text: string
  readonly namespace: string
  readonly operation: string
  readonly node: string
  readonly state: StateFilter
}

export const NO_FILTER: Filter = { text: '', namespace: '', operation: '', node: '', state: 'all' }

/** Made once for a filter, asked for every row. */
export function matcher(filter: Filter, nowMs: number): (row: Row) => boolean {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  const { namespace, operation, node, state } = filter
  return (row) => {
    const { view } = row
    if (namespace !== '' && view.namespace !== namespace) return false
    if (!isIn(state, row, nowMs)) return false
    if (operation !== '' && !operationsOf(row).has(operation)) return false
    if (node !== '' && !namesNode(row, node)) return false
    return words.length === 0 || hasWords(row, words)
  }
}

/** Whether a row is in one of the groups that can be chosen. */
export function isIn(state: StateFilter, row: Row, nowMs: number): boolean {
  const { view } = row
  switch (state) {
    case 'all':
      return true
    case 'held':
      return view.grants.length > 0
    case 'waiting':
      return view.waiting > 0
    case 'kept':
      return view.kept.length > 0
    case 'referenced':
      return view.references.length > 0
    case 'stuck':
      return view.waiting > 0 && isStuck(whyNow(row, nowMs))
  }
}

export function isFiltering({ text, namespace, operation, node, state }: Filter): boolean {
  return text + namespace + operation + node !== '' || state !== 'all'
}

/** All operations that a row has anything of. */
function operationsOf({ view }: Row): ReadonlySet<string> {
  return new Set([...view.grants, ...view.queues, ...view.kept, ...view.recent].map(({ operation }) => operation))
}

function namesNode({ view }: Row, node: string): boolean {
  const { grants, waiters, kept, references } = view
  return references.includes(node) || [...grants, ...waiters, ...kept].some((each) => each.node === node)
}

function hasWords({ view }: Row, words: readonly string[]): boolean {
  const nodes = view.grants.map(({ node }) => node).join('\n')
  const text = `${view.resource}\n${view.namespace}\n${nodes}`.toLowerCase()
  return words.every((word) => text.includes(word))
}
