export type {
  Json,
  NamespacePolicy,
  OperationPolicy,
  Policy,
  PreviousAttempt,
  ResourceView,
  WaiterView,
} from '../core/index.ts'
export type { ErrorCode, WireEvent } from '../protocol/index.ts'
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
  RunContext,
  RunOptions,
  Skipped,
  SuccessOptions,
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
