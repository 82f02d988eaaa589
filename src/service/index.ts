export { SteadyClock, systemClock } from './clock.ts'
export type { Scope, Sink } from './fan-out.ts'
export { Service, type ServiceOptions } from './service.ts'
export { systemTimers, type Timers } from './timers.ts'
