export type {
  GrantView,
  Json,
  KeptView,
  NamespacePolicy,
  OperationPolicy,
  PauseView,
  Policy,
  PreviousAttempt,
  QueueWait,
  RecentView,
  ResourceView,
  WaiterView,
  WaitReason,
} from '../core/index.ts'
export type { ErrorCode, Overview, OverviewPoint, PastGrant, Tally, WireEvent } from '../protocol/index.ts'
export type {
  AskOptions,
  Baton,
  ConnectOptions,
  Done,
  Grant,
  LeadContext,
  Leader,
  LeadOptions,
  Lock,
  LockOptions,
  OnceOptions,
  OpenOptions,
  Performed,
  References,
  ResourceStatus,
  RunContext,
  RunOptions,
  Skipped,
  SuccessOptions,
  Timeline,
  VerifyWhen,
  WhenUnavailable,
} from './api.ts'
export { connect } from './connect.ts'
export {
  ArgumentError,
  BatonError,
  FailedForGoodError,
  GrantLostError,
  PermanentError,
  RefusedError,
  SkippedError,
  UnavailableError,
} from './errors.ts'
export { open } from './open.ts'
export type { Tracer } from './traces/tracer.ts'
