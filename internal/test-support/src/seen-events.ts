import type { Event, Outcome, Recipient } from '@baton-lock/core'
import type { Address } from '@baton-lock/store/store'

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>
type Given = Partial<Address> & {
  readonly operation?: string
  readonly node?: string
  readonly fence?: number
  readonly atMs?: number
}

const at = ({ namespace = 'default', resource = 'r', operation = 'pull', atMs = 0 }: Given) => {
  return { namespace, resource, operation, atMs }
}
const by = (given: Given) => {
  const { node = 'a' } = given
  return { ...at(given), node, owner: `${node}-1` }
}

function seenBy<Type extends Event['type']>(
  event: EventOf<Type> & { readonly operation: string; readonly node: string; readonly owner: string },
): { readonly event: EventOf<Type>; readonly to: readonly Recipient[] } {
  const { operation, node, owner } = event
  return { event, to: [{ operation, node, owner, hold: '1', sessions: [] }] }
}

/** Events as a store tells them, for those who count them: the operation `pull` of the resource `r`, at the time 0. */
export const seen = {
  queued: (given: Given = {}) => seenBy<'queued'>({ type: 'queued', ...by(given), position: 1 }),
  left: (given: Given = {}) => seenBy<'left'>({ type: 'left', ...by(given) }),
  granted: ({ waitedMs, ...given }: Given & { readonly waitedMs?: number } = {}) => {
    const grant = { fence: given.fence ?? 1, attempt: 1, handOver: waitedMs !== undefined, waitedMs }
    return seenBy<'granted'>({ type: 'granted', ...by(given), ...grant })
  },
  claimed: (given: Given = {}) => seenBy<'claimed'>({ type: 'claimed', ...by(given), fence: given.fence ?? 1 }),
  ended: ({
    outcome = { outcome: 'success' },
    heldMs = 10,
    ...given
  }: Given & { readonly outcome?: Outcome; readonly heldMs?: number } = {}) =>
    seenBy<'ended'>({ type: 'ended', ...by(given), fence: given.fence ?? 1, attempt: 1, outcome, heldMs }),
  /** So long have they waited for the success with this fence. */
  told: ({ waited, fence = 1, ...given }: Given & { readonly waited: readonly number[] }) => {
    const { operation, node, owner } = by(given)
    const to: Recipient[] = waited.map((waitedMs) => ({ operation, node, owner, hold: '1', sessions: [], waitedMs }))
    const event: Event = { type: 'told', ...at(given), answer: { status: 'skip', fence }, count: to.length }
    return { event, to }
  },
} as const
