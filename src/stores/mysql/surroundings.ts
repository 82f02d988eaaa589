import type { Policy } from '../../core/index.ts'
import type { DatabaseClock } from './clock.ts'
import type { Packet, Results, Run } from './connections.ts'
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

/** How many statements `askSurroundings` adds. */
export const SURROUNDINGS = 3

/** Short ones: a server takes longer over one that asks for everything. */
export function askSurroundings(packet: Packet, { clock, mailbox }: Neighbours, shard: number): void {
  const now = clock.sql
  const clockFloorAndPolicy = `SELECT ${now} AS now_ms, s.fence_floor, p.version
    FROM baton_shards s JOIN baton_policy p ON p.id = 1 WHERE s.shard = ?`
  const hearers = `SELECT process FROM baton_processes WHERE process <> ? AND expires_at_ms > ${now}`
  packet.add(clockFloorAndPolicy, shard).add(hearers, mailbox.process).add(mailbox.select, mailbox.process)
}

export async function surroundingsOf(
  run: Run,
  [[row], hearers, mail]: Results,
  { clock, policy, mailbox }: Neighbours,
): Promise<Surroundings> {
  clock.heard(row.now_ms)
  mailbox.take(mail)
  return {
    nowMs: row.now_ms,
    fenceFloor: row.fence_floor,
    policy: await policy.ofVersion(run, row.version),
    hearers: hearers.map(({ process }: { process: string }) => process),
  }
}
