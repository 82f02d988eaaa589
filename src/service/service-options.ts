import type { Store } from '../stores/store.ts'
import type { Log } from './log.ts'
import type { ReadTurns } from './read-turns.ts'
import type { RequestLimits } from './requests.ts'
import type { Timers } from './timers.ts'

/** What a service is made of; all but the store has a default. */
export interface ServiceOptions extends Pick<RequestLimits, 'quotas' | 'statistics' | 'version'> {
  readonly store: Store
  readonly timers?: Timers
  /** How many may wait in all. */
  readonly waiterLimit?: number
  /** The largest result that is told to others, in bytes of JSON. Default: 16 KiB. */
  readonly resultLimit?: number | undefined
  /** How many events are remembered for listeners that come back. */
  readonly eventLimit?: number
  /** Tells the event ids of this service from those of others on the same store. */
  readonly instance?: string
  /** How reads take turns with all else. Default: by the event loop of this process. */
  readonly readTurns?: ReadTurns
  /** Told when the store goes, and when it is back. Default: says nothing. */
  readonly log?: Log
}
