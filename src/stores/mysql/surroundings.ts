import type { Policy } from '../../core/index.ts'
import type { DatabaseClock } from './clock.ts'
import type { Packet, Run } from './connections.ts'
import { hearersOf } from './hearers.ts'
import type { Mailbox } from './mailbox.ts'
import type { StoredPolicy } from './stored-policy.ts'

/** What a step has to know beside its resource, read after the resource was locked. */
export interface Surroundings {
  readonly nowMs: number
  readonly fenceFloor: number
  readonly policy: Policy
  /** The other processes that hear of every event. */
  readonly hearers: readonly string[]
}

export interface Neighbours {
  readonly clock: DatabaseClock
  readonly policy: StoredPolicy
  readonly mailbox: Mailbox
}

/** One statement, a short one: every step asks this. */
export function askSurroundings(packet: Packet, { clock }: Neighbours, shard: number): void {
  const statement = `SELECT ${clock.sql} AS now_ms, f.fence_floor, s.policy_version, s.hearers
    FROM baton_shards f JOIN baton_store s ON s.id = 1 WHERE f.shard = ?`
  packet.add(statement, shard)
}

interface SurroundingsRow {
  readonly now_ms: number
  readonly fence_floor: number
  readonly policy_version: number
  readonly hearers: string | null
}

export async function surroundingsOf(
  run: Run,
  row: SurroundingsRow,
  { clock, policy, mailbox }: Neighbours,
): Promise<Surroundings> {
  clock.heard(row.now_ms)
  return {
    nowMs: row.now_ms,
    fenceFloor: row.fence_floor,
    policy: await policy.ofVersion(run, row.policy_version),
    hearers: hearersOf(row.hearers, row.now_ms).filter((process) => process !== mailbox.process),
  }
}
