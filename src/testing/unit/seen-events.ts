import type { Event, Outcome } from '../../core/index.ts'
import type { Address, StoreEvent } from '../../stores/store.ts'

type EventOf<Type extends Event['type']> = Extract<StoreEvent, { type: Type }>
type Given = Partial<Address> & {
  readonly operation?: string
  readonly node?: string
  readonly fence?: number
  readonly atMs?: number
  readonly elsewhere?: true
}

function around<Type extends Event['type']>(type: Type, { node: _, fence: __, ...given }: Given) {
  return { type, seq: 1, atMs: 0, namespace: 'default', resource: 'r', operation: 'pull', ...given } as const
}

const askerOf = ({ node = 'a' }: Given) => ({ node, owner: `${node}-1`, hold: '1', session: undefined })

/** Events as a store tells them, for those who count them: the operation `pull` of the resource `r`, at the time 0. */
export const seen = {
  queued: (given: Given = {}): EventOf<'queued'> => ({
    ...around('queued', given),
    asker: askerOf(given),
    position: 1,
  }),
  left: (given: Given = {}): EventOf<'left'> => ({ ...around('left', given), asker: askerOf(given) }),
  granted({ waitedMs, ...given }: Given & { readonly waitedMs?: number } = {}): EventOf<'granted'> {
    const handOver = waitedMs !== undefined
    const grant = { asker: askerOf(given), fence: given.fence ?? 1, attempt: 1, handOver }
    return { ...around('granted', given), ...grant, ...(handOver && { waitedMs }) }
  },
  claimed: (given: Given = {}): EventOf<'claimed'> => ({
    ...around('claimed', given),
    asker: askerOf(given),
    fence: given.fence ?? 1,
  }),
  ended({
    outcome = { outcome: 'success' },
    heldMs = 10,
    ...given
  }: Given & { readonly outcome?: Outcome; readonly heldMs?: number } = {}): EventOf<'ended'> {
    const { node, owner } = askerOf(given)
    return {
      ...around('ended', given),
      node,
      owner,
      sessions: [],
      fence: given.fence ?? 1,
      attempt: 1,
      outcome,
      heldMs,
    }
  },
  /** So long have they waited for the success with this fence. */
  told({ waited, fence = 1, ...given }: Given & { readonly waited: readonly number[] }): EventOf<'told'> {
    const askers = waited.map((waitedMs) => ({ ...askerOf(given), waitedMs }))
    return { ...around('told', given), askers, answer: { status: 'skip', fence } }
  },
} as const
