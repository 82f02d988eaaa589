import { type Command, completePolicy, type Facts, type Policy, type SaidPolicy } from '../../core/index.ts'
import type { Resident } from '../resident/resident.ts'
import type { SessionEnd } from '../resident/sessions.ts'
import type { SessionRequest, VersionedPolicy } from '../store.ts'

/**
 * What the log holds: not states but what was done, as the core is deterministic. Renewals of sessions are not in it: a
 * session is either alive or not, and who is alive gets its whole ttl once more after a restart.
 */
export type Entry =
  | readonly ['step', nowMs: number, namespace: string, resource: string, command: Command, facts?: Facts]
  /** An `acknowledge`, which comes with every lock that has ended: written shorter. */
  | readonly ['acked', nowMs: number, namespace: string, resource: string, ...ask: AckedAsk]
  | readonly ['open', session: SessionRequest]
  /** Its places go one by one, by steps that follow. Older versions did not say how it ended. */
  | readonly ['end', session: string, how?: SessionEnd]
  | readonly ['policy', SaidStoredPolicy]
  /**
   * What follows was decided by this edition of the rules; where it names none, and before the first of them, by the first. Of
   * fences, those up to `fenceFloor` may have been granted in what is lost.
   */
  | readonly ['restart', nowMs: number, edition?: number, fenceFloor?: number]

type AckedAsk = readonly [operation: string, owner: string, hold: string, node: string | null]

export interface StoredPolicy extends VersionedPolicy {
  /** The policy that the store was last opened with: an applied one stays until that is another. */
  readonly configured: Policy
}

/** What users have said of it; older versions wrote all of it. */
interface SaidStoredPolicy {
  readonly version: number
  readonly policy: SaidPolicy
  readonly configured: SaidPolicy
}

/** As it is with the rows and columns that an edition has. */
export function completed({ policy, configured, version }: SaidStoredPolicy, edition: number): StoredPolicy {
  return { version, policy: completePolicy(policy, edition), configured: completePolicy(configured, edition) }
}

/** What names no edition was decided by this one. */
export const FIRST_EDITION = 1

/** Does once more what was done then. Returns the time of it, where it had one. */
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
      resident.sessions.end(entry[1], entry[2] ?? 'session-lost')
      return undefined
    case 'policy':
      resident.policy = completed(entry[1], resident.edition)
      return undefined
    case 'restart':
      resident.edition = entry[2] ?? FIRST_EDITION
      resident.policy = completed(resident.policy as StoredPolicy, resident.edition)
      resident.shards.raiseAllFenceFloors(entry[3] ?? 0)
      resident.recover(entry[1])
      return entry[1]
    default:
      throw new TypeError(`no entry is known as '${(entry as readonly unknown[])[0]}'`)
  }
}
