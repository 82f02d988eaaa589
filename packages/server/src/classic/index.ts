import type { HttpRoute } from '../http/router.ts'
import { KeyWatches } from './key-watches.ts'
import { lockRoutes } from './lock.ts'
import type { ClassicOptions } from './options.ts'
import { statusRoutes } from './status.ts'
import { subscribeRoutes } from './subscribe.ts'

/** /lock, /unlock, /lock/subscribe and /lock/status, as existing clients use them. `close` ends what they listen to. */
export function classicPaths(options: Omit<ClassicOptions, 'watches'>): {
  readonly routes: readonly HttpRoute[]
  close(): void
} {
  const watches = new KeyWatches(options)
  const classic = { ...options, watches }
  return {
    routes: [...lockRoutes(classic), ...statusRoutes(classic), ...subscribeRoutes(classic)],
    close: () => watches.close(),
  }
}
