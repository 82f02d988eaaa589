import { type Command, completePolicy, type Facts, type Policy, type SaidPolicy, saidIn } from '@baton-lock/core'
import type { Resident } from '../resident/resident.ts'
import type { SessionEnd } from '../resident/sessions.ts'
import type { SessionRequest, VersionedPolicy } from '../store.ts'

/**
 * The log has commands, not states, as the core is deterministic. Renewals of sessions are not in it: a session that is alive gets
 * its whole ttl once more after a restart.
 */
export type Entry =
  | readonly ['step', nowMs: number, namespace: string, resource: string, command: Command, facts?: Facts]
  /** An `acknowledge`. There is one for every lock that has ended, so it is written shorter. */
  | readonly ['acked', nowMs: number, namespace: string, resource: string, ...ask: AckedAsk]
  | readonly ['open', session: SessionRequest]
  /** Its places are removed one by one, by the steps that follow. */
  | readonly ['end', session: string, how: SessionEnd]
  | readonly ['policy', SaidStoredPolicy]
  /** Fences up to `fenceFloor` may have been granted in a lost part of the log. */
  | readonly ['restart', nowMs: number, fenceFloor?: number]

type AckedAsk = readonly [operation: string, owner: string, hold: string, node: string | null]

export interface StoredPolicy extends VersionedPolicy {
  /** The policy that the store was last opened with. An applied policy stays until the store is opened with another. */
  readonly configured: Policy
}

/** Without the built-in rows and columns, as it is written. */
export interface SaidStoredPolicy {
  readonly version: number
  readonly policy: SaidPolicy
  readonly configured: SaidPolicy
}

/** Adds the built-in rows and columns. */
export function completed({ policy, configured, version }: SaidStoredPolicy): StoredPolicy {
  return { version, policy: completePolicy(policy), configured: completePolicy(configured) }
}

export function saidOf({ version, policy, configured }: StoredPolicy): SaidStoredPolicy {
  return { version, policy: saidIn(policy), configured: saidIn(configured) }
}

/** Applies an entry. Returns its time, or `undefined` if it has none. */
export function replay(resident: Resident, entry: Entry): number | undefined {
  switch (entry[0]) {
    case 'step': {
      const [, nowMs, namespace, resource, command, facts] = entry
      resident.run({ namespace, resource }, { command, facts, nowMs })
      return nowMs
    }
    case 'acked': {
      const [, nowMs, namespace, resource, operation, owner, hold, node] = entry
      const command = { type: 'acknowledge', operation, node: node ?? undefined, owner, hold } as const
      resident.run({ namespace, resource }, { command, nowMs })
      return nowMs
    }
    case 'open':
      resident.sessions.open(entry[1], 0)
      return undefined
    case 'end':
      resident.sessions.end(entry[1], entry[2])
      return undefined
    case 'policy':
      resident.policy = completed(entry[1])
      return undefined
    case 'restart':
      resident.shards.raiseAllFenceFloors(entry[2] ?? 0)
      resident.recover(entry[1])
      return entry[1]
    default:
      throw new TypeError(`no entry is known as '${(entry as readonly unknown[])[0]}'`)
  }
}
