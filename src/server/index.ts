/**
 * A server of one's own: a store, a `Service` over it, an app over that. `listen` is for the app alone: whoever closes it
 * closes the service too, which closes the store, and then stops the clock.
 */

export type { Token } from '../protocol/index.ts'
export type { Log, LogFields, LogLevel } from '../service/index.ts'
export {
  Service,
  type ServiceOptions,
  Statistics,
  type StatisticsOptions,
  systemClock,
  systemTimers,
  type Timers,
} from '../service/index.ts'
export { type AppOptions, buildApp } from './app.ts'
export type { AuditEntry, AuditSink } from './audit.ts'
export { AuditFile } from './audit-file.ts'
export { jsonLines, type LinesOptions } from './json-lines.ts'
export { defaultLimits, limitsFor, type ServerLimits } from './limits.ts'
export { type ListenOptions, listen } from './listen.ts'
export { prettyLines } from './pretty-lines.ts'
export { Reload } from './reload.ts'
export { sessionLog } from './request-log.ts'
export { logStart, type Started } from './start-entry.ts'
export { type StopOptions, stop } from './stop.ts'
