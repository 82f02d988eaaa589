import type { Clock } from '@baton-lock/store/store'
import type { Etcd } from './etcd.ts'
import type { Journal } from './journal.ts'
import type { LargeValues } from './large-values.ts'
import type { ReadAhead } from './read-ahead.ts'
import type { Known } from './recollection.ts'

/** What transactions work with. */
export interface Around extends Known {
  readonly etcd: Etcd
  readonly clock: Clock
  readonly readAhead: ReadAhead
  readonly large: LargeValues
  readonly journal: Journal
  readonly process: string
  readonly uniqueName: () => string
  readonly wallMs: () => number
}
