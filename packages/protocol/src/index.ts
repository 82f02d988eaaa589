export { type ErrorBody, type ErrorCode, errorBody, errors, refusalOf } from './errors.ts'
export { isId } from './ids.ts'
export { jsonBytes, LIMITS, QUOTAS, type Quota, type Quotas } from './limits.ts'
export type { Overview, OverviewPoint, PastGrant, Tally } from './overview.ts'
export type { ReplyOf, Who } from './replies.ts'
export type {
  Request,
  RequestInput,
  RequestOf,
  RequestType,
  ServiceRequest,
} from './requests.ts'
export { backupRoute, batchRoute, eventsRoute, type Route, routes, SESSION_HEADER, STORE_HEADER } from './routes.ts'
export type { GatheredEvent, Place, StatePart, StreamedEvent, WireEvent } from './stream/events.ts'
export { placed } from './stream/placed.ts'
export { SSE_HEARTBEAT, sseFrame, sseRetry } from './stream/sse.ts'
export { StateParts, viewsOf } from './stream/state-parts.ts'
export {
  type ClientFrame,
  FRAME_LIMITS,
  type ListenFrame,
  type RequestDefaults,
  type ServerFrame,
  STREAM_PROTOCOL,
  type StreamScope,
  streamRoute,
  TAKE_DEFAULTS,
  TOKEN_PROTOCOL,
} from './stream/stream.ts'
export { formatDuration } from './text/duration.ts'
export { eventText, outcomeText } from './text/event-text.ts'
export { escapedLine, harmlessJson, oneLine, withEscapes } from './text/harmless.ts'
export { issuesText, issueText } from './text/issue-text.ts'
export { ownerPrefix, processesOf } from './text/owner-process.ts'
export { shortJson } from './text/short-json.ts'
export { isStuck, whyText } from './text/why-text.ts'
export type { NamedToken, Role, Token } from './token-schema.ts'
export { type Trace, traceIn } from './trace.ts'
export { TRACEPARENT } from './traceparent.ts'
