import type { Service, Timers } from '../../service/index.ts'
import type { Guard } from '../guard.ts'
import type { Posts } from '../posts.ts'
import type { RequestLog } from '../request-log.ts'
import type { Streams } from '../streams.ts'
import type { KeyWatches } from './key-watches.ts'

/** What the classic paths are served with. */
export interface ClassicOptions {
  readonly service: Service
  readonly streams: Streams
  readonly watches: KeyWatches
  readonly guard: Guard
  readonly posts: Posts
  readonly requestLog: RequestLog
  readonly timers: Timers
}
