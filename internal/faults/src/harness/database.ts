import type { Random } from '@baton-lock/store/conformance/random'
import type { KeptStep } from '../history/shared-history.ts'
import type { Inflictions } from './inflictions.ts'
import type { Target } from './link.ts'

export interface DatabaseOptions {
  /** `mysql:` alone is a MariaDB of the run's own, `etcd:` an etcd of three members. */
  readonly store: string
  readonly folder: string
  /** How many processes will have it open. */
  readonly processes: number
  /** Commits stay in its memory for a while: what was acknowledged is lost when it is killed. */
  readonly isForgetful: boolean
}

export interface DatabaseFaultsOptions {
  readonly random: Random
  readonly inflictions: Inflictions
  /** Of the clients' sessions. */
  readonly ttlMs: number
}

/** The database of a run that processes share: one of its own, that anything may befall, or somebody's, that little may. */
export interface Database {
  /** The store in it. */
  readonly url: string
  /** What a process that opens the store itself has ways to, in the order of the hosts in the URL. */
  readonly targets: readonly Target[]
  /** When it was killed, by the machine's clock, where that may undo what others have seen already. */
  readonly killedAtMs: readonly number[]
  /** Its sessions may last longer than their ttl, until their end is told. */
  readonly doSessionsEndLate: boolean
  /** Begins to hurt it. */
  hurt(options: DatabaseFaultsOptions): void
  /** Every step that was ever taken, in the order in which those of one resource were. */
  steps(): Promise<readonly KeptStep[]>
  stop(): Promise<void>
}
