import type { Service, Timers } from '@baton-lock/service'
import type { Guard } from '../auth/guard.ts'
import type { Streams } from '../streams/streams.ts'
import type { KeyWatches } from './key-watches.ts'

/** What the classic paths are served with. */
export interface ClassicOptions {
  readonly service: Service
  readonly streams: Streams
  readonly watches: KeyWatches
  readonly guard: Guard
  readonly timers: Timers
}
