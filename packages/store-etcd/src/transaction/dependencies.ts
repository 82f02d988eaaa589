import type { Clock } from '@baton-lock/store/store'
import type { ReadAhead } from '../cache/read-ahead.ts'
import type { Known } from '../cache/recollection.ts'
import type { Etcd } from '../etcd.ts'
import type { Journal } from '../upkeep/journal.ts'
import type { LargeValues } from './large-values.ts'

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
