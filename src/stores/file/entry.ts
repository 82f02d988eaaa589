import type { Command, Policy } from '../../core/index.ts'
import type { Resident } from '../resident.ts'
import type { SessionRequest, VersionedPolicy } from '../store.ts'

/**
 * What the log holds: not states but what was done, as the core is deterministic. Renewals of sessions are not in it: a
 * session is either alive or not, and who is alive gets its whole ttl once more after a restart.
 */
export type Entry =
  | readonly ['step', nowMs: number, namespace: string, resource: string, command: Command]
  | readonly ['open', session: SessionRequest]
  | readonly ['end', session: string]
  | readonly ['policy', StoredPolicy]
  | readonly ['restart', nowMs: number]

export interface StoredPolicy extends VersionedPolicy {
  /** The policy that the store was last opened with: an applied one stays until that is another. */
  readonly configured: Policy
}

/** Does once more what was done then. Returns the time of it, where it had one. */
export function replay(resident: Resident, entry: Entry): number | undefined {
  switch (entry[0]) {
    case 'step': {
      const [, nowMs, namespace, resource, command] = entry
      resident.run({ namespace, resource }, command, nowMs)
      return nowMs
    }
    case 'open':
      resident.sessions.open(entry[1], 0)
      return undefined
    case 'end':
      resident.sessions.end(entry[1])
      return undefined
    case 'policy':
      resident.policy = entry[1]
      return undefined
    case 'restart':
      resident.recover(entry[1])
      return entry[1]
    default:
      throw new TypeError(`no entry is known as '${(entry as readonly unknown[])[0]}'`)
  }
}
