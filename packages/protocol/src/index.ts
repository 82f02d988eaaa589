export { formatDuration } from './duration.ts'
export { type ErrorBody, type ErrorCode, errorBody, errors, refusalOf } from './errors.ts'
export { eventText, outcomeText } from './event-text.ts'
export type { GatheredEvent, Place, StatePart, StreamedEvent, WireEvent } from './events.ts'
export { escapedLine, harmlessJson, oneLine, withEscapes } from './harmless.ts'
export { isId } from './ids.ts'
export { issuesText, issueText } from './issue-text.ts'
export { jsonBytes, LIMITS, QUOTAS, type Quota, type Quotas } from './limits.ts'
export type { Overview, OverviewPoint, PastGrant, Tally } from './overview.ts'
export { ownerPrefix, processesOf } from './owner-process.ts'
export { placed } from './placed.ts'
export type { ReplyOf, Who } from './replies.ts'
export type {
  Request,
  RequestInput,
  RequestOf,
  RequestType,
  ServiceRequest,
} from './requests.ts'
export { backupRoute, batchRoute, eventsRoute, type Route, routes, SESSION_HEADER, STORE_HEADER } from './routes.ts'
export { shortJson } from './short-json.ts'
export { SSE_HEARTBEAT, sseFrame, sseRetry } from './sse.ts'
export { StateParts, viewsOf } from './state-parts.ts'
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
} from './stream.ts'
export type { NamedToken, Role, Token } from './token-schema.ts'
export { type Trace, traceIn } from './trace.ts'
export { TRACEPARENT } from './traceparent.ts'
export { isStuck, whyText } from './why-text.ts'
