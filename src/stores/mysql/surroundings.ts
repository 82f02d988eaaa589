import type { Policy } from '../../core/index.ts'
import type { DatabaseClock } from './clock.ts'
import type { Packet, Run } from './connections.ts'
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

interface SurroundingsRow {
  readonly now_ms: number
  readonly fence_floor: number
  readonly version: number
  readonly hearers: string | null
  readonly has_mail: number
}

export function askSurroundings(packet: Packet, { clock, mailbox }: Neighbours, shard: number): void {
  const now = clock.sql
  const statement = `SELECT ${now} AS now_ms, s.fence_floor, p.version,
    (SELECT GROUP_CONCAT(process) FROM baton_processes WHERE process <> ? AND expires_at_ms > ${now}) AS hearers,
    EXISTS(SELECT 1 FROM baton_mail WHERE process = ?) AS has_mail
    FROM baton_shards s JOIN baton_policy p ON p.id = 1 WHERE s.shard = ?`
  packet.add(statement, mailbox.process, mailbox.process, shard)
}

export async function surroundingsOf(
  run: Run,
  row: SurroundingsRow,
  { clock, policy, mailbox }: Neighbours,
): Promise<Surroundings> {
  clock.heard(row.now_ms)
  if (row.has_mail) await mailbox.takeAlong(run)
  return {
    nowMs: row.now_ms,
    fenceFloor: row.fence_floor,
    policy: await policy.ofVersion(run, row.version),
    hearers: row.hearers?.split(',') ?? [],
  }
}
