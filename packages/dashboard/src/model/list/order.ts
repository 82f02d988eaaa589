import { isStuck } from '@baton-lock/protocol/text/why-text'
import { longestWaitMs, type Row, whyNow } from '../resource/why.ts'

export const ORDERS = ['urgency', 'resource', 'held', 'lease', 'waiting', 'references'] as const
export type OrderBy = (typeof ORDERS)[number]

export interface Order {
  readonly by: OrderBy
  /** The other way round. */
  readonly isReversed: boolean
}

export const BY_URGENCY: Order = { by: 'urgency', isReversed: false }

/** Those that want to be looked at first; of equal ones by name, so that the order is always the same. */
export function ordered(rows: readonly Row[], { by, isReversed }: Order, nowMs: number): Row[] {
  const keyed = rows.map((row) => ({ row, keys: keysOf(by, row, nowMs) }))
  const sign = isReversed ? -1 : 1
  keyed.sort((one, other) => {
    for (const [index, key] of one.keys.entries()) {
      const difference = other.keys[index]! - key
      if (difference !== 0) return sign * difference
    }
    return (by === 'resource' ? sign : 1) * byName(one.row, other.row)
  })
  return keyed.map(({ row }) => row)
}

/** The larger, the further in front. */
function keysOf(by: OrderBy, row: Row, nowMs: number): number[] {
  const { view } = row
  const wait = () => longestWaitMs(row, nowMs) ?? -1
  switch (by) {
    case 'urgency':
      return [urgencyOf(row, nowMs), view.waiting > 0 ? wait() : heldMs(row, nowMs)]
    case 'resource':
      return []
    case 'held':
      return [heldMs(row, nowMs)]
    case 'lease':
      return [-Math.min(...view.grants.map(({ expiresAtMs = Infinity }) => expiresAtMs), Number.MAX_VALUE)]
    case 'waiting':
      return [view.waiting, wait()]
    case 'references':
      return [view.references.length]
  }
}

function urgencyOf(row: Row, nowMs: number): number {
  const { view } = row
  if (view.waiting > 0) return isStuck(whyNow(row, nowMs)) ? 3 : 2
  return view.grants.length > 0 ? 1 : 0
}

function heldMs({ view }: Row, nowMs: number): number {
  return view.grants.length === 0 ? -1 : nowMs - Math.min(...view.grants.map(({ sinceMs }) => sinceMs))
}

function byName({ view: one }: Row, { view: other }: Row): number {
  if (one.resource !== other.resource) return one.resource < other.resource ? -1 : 1
  return one.namespace < other.namespace ? -1 : Number(one.namespace > other.namespace)
}
