export { type ErrorBody, type ErrorCode, errorBody, errors } from './errors.ts'
export type { Place, PlaceState, StateEvent, WireEvent } from './events.ts'
export { ID_MAX_BYTES, idSchema, isId } from './ids.ts'
export type { ReplyOf } from './replies.ts'
export {
  LIMITS,
  policySchema,
  type Request,
  type RequestInput,
  type RequestOf,
  type RequestType,
  type ResourceRequest,
  requestSchemas,
} from './requests.ts'
export { batchRoute, eventsRoute, type Route, routes, SESSION_HEADER } from './routes.ts'
export { type Frame, SSE_HEARTBEAT, sseFrame, sseRetry } from './sse.ts'
