export type { Method, SingleCall, StreamCall } from './call.ts'
export { CallCancelled } from './inbound.ts'
export { createGrpcServer, type GrpcServer } from './server.ts'
export { STATUS, type Status } from './status.ts'
