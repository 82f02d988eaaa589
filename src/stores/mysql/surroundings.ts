import type { Policy } from '../../core/index.ts'
import type { DatabaseClock } from './clock.ts'
import { hearersOf } from './hearers.ts'
import type { Mailbox } from './mailbox.ts'
import type { Packet, Run } from './packet.ts'
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

/** One short statement: every step asks this. */
export function askSurroundings(packet: Packet, { clock }: Neighbours, shards: readonly number[]): void {
  packet.add(
    `SELECT ${clock.sql} AS now_ms, policy_version, hearers, shard, fence_floor
      FROM baton_store, baton_shards WHERE id = 1 AND shard IN (?)`,
    shards,
  )
}

interface SurroundingsRow {
  readonly now_ms: number
  readonly policy_version: number
  readonly hearers: string | null
  readonly shard: number
  readonly fence_floor: number
}

/** From a row for each shard. */
export async function surroundingsOf(
  run: Run,
  rows: readonly SurroundingsRow[],
  { clock, policy, mailbox }: Neighbours,
): Promise<Surroundings> {
  const { now_ms: nowMs, policy_version, hearers } = rows[0]!
  clock.heard(nowMs)
  return {
    nowMs,
    floors: new Map(rows.map(({ shard, fence_floor }) => [shard, fence_floor])),
    policy: await policy.ofVersion(run, policy_version),
    hearers: hearersOf(hearers, nowMs).filter((process) => process !== mailbox.process),
  }
}
