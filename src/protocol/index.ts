export { type ErrorBody, type ErrorCode, errorBody, errors } from './errors.ts'
export type { Place, WireEvent } from './events.ts'
export { idSchema, isId } from './ids.ts'
export type { ReplyOf } from './replies.ts'
export {
  jsonBytes,
  LIMITS,
  policySchema,
  type Request,
  type RequestInput,
  type RequestOf,
  type RequestType,
  requestSchemas,
} from './requests.ts'
export { batchRoute, eventsRoute, type Route, routes, SESSION_HEADER, STORE_HEADER } from './routes.ts'
export { SSE_HEARTBEAT, sseFrame, sseRetry } from './sse.ts'
