/**
 * A server of one's own: a store, a `Service` over it, an app over that. `listen` is for the app alone: whoever closes it
 * closes the service too, which closes the store, and then stops the clock.
 */

export type { Token } from '@baton-lock/protocol'
export type { Log, LogFields, LogLevel } from '@baton-lock/service'
export {
  Service,
  Statistics,
  systemClock,
  systemTimers,
} from '@baton-lock/service'
export { type App, type AppOptions, buildApp } from './app.ts'
export { listen } from './lifecycle/listen.ts'
export { Reload } from './lifecycle/reload.ts'
export { stop } from './lifecycle/stop.ts'
export { limitsFor, type ServerLimits } from './limits.ts'
export type { AuditEntry, AuditSink } from './logging/audit.ts'
export { AuditFile } from './logging/audit-file.ts'
export { jsonLines, type LinesOptions } from './logging/json-lines.ts'
export { prettyLines } from './logging/pretty-lines.ts'
export { sessionLog } from './logging/request-log.ts'
export { logStart } from './logging/start-entry.ts'
