export { formatDuration } from './duration.ts'
export { type ErrorBody, type ErrorCode, errorBody, errors } from './errors.ts'
export type { Place, StatePart, StreamedEvent, WireEvent } from './events.ts'
export { escapedLine, harmlessJson, oneLine, withEscapes } from './harmless.ts'
export { isId } from './ids.ts'
export { jsonBytes, LIMITS, QUOTAS, type Quota, type Quotas } from './limits.ts'
export type { Overview, PastGrant } from './overview.ts'
export type { ReplyOf } from './replies.ts'
export type { Request, RequestInput, RequestOf, RequestType } from './requests.ts'
export { batchRoute, eventsRoute, type Route, routes, SESSION_HEADER, STORE_HEADER } from './routes.ts'
export { SSE_HEARTBEAT, sseFrame, sseRetry } from './sse.ts'
export { StateParts, viewsOf } from './state-parts.ts'
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
export type { Token } from './token-schema.ts'
export { type Trace, traceIn } from './trace.ts'
export { isStuck, reasonText, whyText } from './why-text.ts'
