import {
  type Acquire,
  type AcquireReply,
  defaultNamespacePolicy,
  defaultPolicy,
  type NamespacePolicy,
  type Policy,
  type ReleaseReply,
  type ReportedOutcome,
} from '@baton-lock/core'
import { durableStep, type Store } from '../store.ts'
import type { SimulatedClock } from './simulated-clock.ts'

export interface World {
  readonly clock: SimulatedClock
  /** How many runs of random commands. */
  readonly seeds: number
  /** A store of its own beside the one under test. */
  open(policy: Policy): Promise<Store>
  /** Another process on the data of the store under test; only for stores that several processes share. */
  beside(): Promise<Store>
  /** Closes the store under test and opens its data again; only for stores that keep them. */
  reopen(): Promise<Store>
}

export interface Case {
  readonly claim: string
  readonly policy: Policy
  readonly check: (store: Store, world: World) => Promise<void>
}

export function claim(text: string, check: Case['check'], switches?: Partial<NamespacePolicy>): Case {
  const policy = switches ? { namespaces: { default: { ...defaultNamespacePolicy, ...switches } } } : defaultPolicy
  return { claim: text, policy, check }
}

interface Who {
  readonly node: string
  readonly namespace?: string
  readonly operation?: string
  readonly resource?: string
  readonly hold?: string
}

/** Asks, with the defaults of the tests: operation `pull` of resource `r`, the node as owner, hold id `1`. */
export function acquire(
  store: Store,
  { node, namespace = 'default', operation = 'pull', resource = 'r', hold = '1', ...more }: Who & Partial<Acquire>,
): Promise<AcquireReply> {
  const command: Acquire = { type: 'acquire', owner: node, ttlMs: 30_000, ...more, operation, node, hold }
  return durableStep(store, { namespace, resource }, command)
}

type Ending = Who & { readonly fence?: number } & ReportedOutcome

export function release(
  store: Store,
  { node, namespace = 'default', operation = 'pull', resource = 'r', hold = '1', ...more }: Ending,
): Promise<ReleaseReply> {
  return durableStep(store, { namespace, resource }, { type: 'release', owner: node, operation, hold, ...more })
}

export const success = { outcome: 'success' } as const
export const failure = { outcome: 'failure', error: 'boom' } as const
export const SPAN = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

export function fenceOf(reply: AcquireReply): number {
  if (reply.status !== 'granted') throw new Error(`expected a grant, got ${JSON.stringify(reply)}`)
  return reply.fence
}

/**
 * Lets time pass, sweeping at every deadline on the way as a service does. A store may look a little later than a
 * deadline, as it says itself; `beside` is swept at the same moments.
 */
export async function pass(store: Store, clock: SimulatedClock, byMs: number, beside?: Store): Promise<void> {
  const untilMs = clock.nowMs() + byMs
  const sweepAt = async (atMs: number) => {
    clock.jump(Math.max(0, atMs - clock.nowMs()))
    await store.sweep(1_000)
    await beside?.sweep(1_000)
  }
  for (
    let nextMs = store.nextDeadlineMs();
    nextMs !== undefined && nextMs <= untilMs;
    nextMs = store.nextDeadlineMs()
  ) {
    await sweepAt(nextMs)
  }
  await sweepAt(untilMs)
}
