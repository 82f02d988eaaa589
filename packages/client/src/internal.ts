/** For the other packages of Baton, which are released together with this one. Any release may change it. */
export { checkOptions, checkText } from './check-options.ts'
export { Client } from './client.ts'
export { type ClientClock, onAbort, pause, systemClientClock } from './clock.ts'
export type { InputOf, OnReply, StreamHandlers, Transport } from './connection/transport.ts'
export { warn } from './environment.ts'
export { systemRandom } from './random.ts'
export { inOwnContext, tracerFor } from './traces/find-tracer.ts'
