import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientClock } from '../clock.ts'

/**
 * The clock with timers that run in the context of now, not of whoever happens to set one: what a client does of its own accord, such as
 * renewing its session for hours, is no part of the trace of the caller that came first.
 */
export function inOwnContext(clock: ClientClock): ClientClock {
  const run = AsyncLocalStorage.snapshot()
  return { ...clock, after: (delayMs, callback) => clock.after(delayMs, () => run(callback)) }
}
