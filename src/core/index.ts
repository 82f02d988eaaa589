export type * from './command.ts'
export { Deadlines, type Indexes } from './deadlines.ts'
export type { Asker, Event } from './event.ts'
export { nextActMs, nextDeadlineMs } from './expire.ts'
export { RememberedInMemory, resourceInMemory } from './in-memory.ts'
export {
  builtInOperations,
  defaultNamespacePolicy,
  defaultPolicy,
  type NamespacePolicy,
  type OperationPolicy,
  operationOf,
  type Policy,
  plainOperation,
  policyOf,
} from './policy.ts'
export type * from './reply.ts'
export {
  askName,
  type EndedHold,
  type Grant,
  isIdle,
  type Keeping,
  type KeptAnswer,
  type KeptSuccess,
  type Lease,
  newResource,
  type Pause,
  type RecentOutcome,
  type Remembered,
  type Resource,
  SHARED_HOLD,
  type Waiter,
  type Waiters,
} from './state.ts'
export { type Step, step } from './step.ts'
export type { Context } from './turn.ts'
export type { GrantView, KeptView, RecentView, ResourceView, WaiterView } from './view.ts'
export { type Standing, standingOf, viewOf } from './view.ts'
