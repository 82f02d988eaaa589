import type { Policy } from '../../core/index.ts'
import type { DatabaseClock } from './clock.ts'
import type { Packet, Run } from './connections.ts'
import { hearersOf } from './hearers.ts'
import type { Mailbox } from './mailbox.ts'
import type { StoredPolicy } from './stored-policy.ts'

/** What a step has to know beside its resource, read after the resource was locked. */
export interface Surroundings {
  readonly nowMs: number
  /** Of each shard that was asked for: no fence at or below it is granted. */
  readonly floors: ReadonlyMap<number, number>
  readonly policy: Policy
  /** The other processes that hear of every event. */
  readonly hearers: readonly string[]
}

export interface Neighbours {
  readonly clock: DatabaseClock
  readonly policy: StoredPolicy
  readonly mailbox: Mailbox
}

/** Two short statements: every step asks this. */
export function askSurroundings(packet: Packet, { clock }: Neighbours, shards: readonly number[]): void {
  packet
    .add(`SELECT ${clock.sql} AS now_ms, policy_version, hearers FROM baton_store WHERE id = 1`)
    .add('SELECT shard, fence_floor FROM baton_shards WHERE shard IN (?)', shards)
}

interface SurroundingsRows {
  readonly store: { readonly now_ms: number; readonly policy_version: number; readonly hearers: string | null }
  readonly floors: readonly { readonly shard: number; readonly fence_floor: number }[]
}

export async function surroundingsOf(
  run: Run,
  { store, floors }: SurroundingsRows,
  { clock, policy, mailbox }: Neighbours,
): Promise<Surroundings> {
  const nowMs = store.now_ms
  clock.heard(nowMs)
  return {
    nowMs,
    floors: new Map(floors.map(({ shard, fence_floor }) => [shard, fence_floor])),
    policy: await policy.ofVersion(run, store.policy_version),
    hearers: hearersOf(store.hearers, nowMs).filter((process) => process !== mailbox.process),
  }
}
