export {
  type AskAt,
  isStoreUnavailable,
  StoreUnavailable,
  storeErrorCode,
  UnknownOutcome,
} from '@baton-lock/store/store'
export type { Sink } from './listening/catch-up.ts'
export type { Scope } from './listening/fan-out.ts'
export type { ListenOptions } from './listening/listening.ts'
export { type Log, type LogFields, type LogLevel, logTo, noLog } from './log.ts'
export { type Asked, isReading, isStepping } from './requests/commands.ts'
export type { ReadBudget } from './requests/reads.ts'
export { ReadTurns } from './requests/reads.ts'
export { Service } from './service.ts'
export type { Buckets, Series } from './statistics/series.ts'
export { Statistics } from './statistics/statistics.ts'
export type { Gauged } from './statistics/store-gauges.ts'
export { processMs, SteadyClock, systemClock } from './timers/clock.ts'
export { systemTimers, systemWallMs, type Timers } from './timers/timers.ts'
