export { type ErrorBody, type ErrorCode, errorBody, errors } from './errors.ts'
export type { Place, WireEvent } from './events.ts'
export { isId } from './ids.ts'
export { jsonBytes, LIMITS } from './limits.ts'
export type { ReplyOf } from './replies.ts'
export type { Request, RequestInput, RequestOf, RequestType } from './requests.ts'
export { batchRoute, eventsRoute, type Route, routes, SESSION_HEADER, STORE_HEADER } from './routes.ts'
export { SSE_HEARTBEAT, sseFrame, sseRetry } from './sse.ts'
export {
  type ClientFrame,
  FRAME_LIMITS,
  type ListenFrame,
  type RequestDefaults,
  type ServerFrame,
  type StreamScope,
  streamRoute,
  TAKE_DEFAULTS,
} from './stream.ts'
