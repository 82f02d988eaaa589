export type * from './command.ts'
export type { AddressedEvent, Event, KeyActor, Recipient } from './event.ts'
export { jsonSize } from './json-size.ts'
export {
  builtInNamespace,
  builtInOperations,
  completePolicy,
  defaultNamespacePolicy,
  defaultPolicy,
  isSamePolicy,
  type NamespacePolicy,
  type OperationPolicy,
  operationOf,
  type Policy,
  plainOperation,
  policyOf,
  type SaidPolicy,
  saidIn,
} from './policy.ts'
export type * from './reply.ts'
export type { CycleLink, QueueWait, WaitReason } from './rules/wait.ts'
export { type ActorName, mayActFor, nodePrefix } from './state/actor.ts'
export { Deadlines, type Indexes } from './state/deadline-heap.ts'
export { Holds } from './state/holds.ts'
export { memoriesToWrite, RememberedInMemory, resourceInMemory, waitersToWrite } from './state/in-memory.ts'
export type { Lease } from './state/lease.ts'
export { type PlaceChanges, placesOf, type SessionPlace } from './state/places.ts'
export {
  type AskName,
  addReference,
  askName,
  type Contradiction,
  type EndedAsk,
  type Grant,
  highestNumber,
  isIdle,
  type KeptAnswer,
  type KeptSuccess,
  newResource,
  type Pause,
  type RecentOutcome,
  type ReferenceChanges,
  type Remembered,
  type Resource,
  SHARED_HOLD,
  toWrite,
  type Waiter,
  type WritableRemembered,
  type WritableWaiters,
} from './state/state.ts'
export { type Step, step } from './step.ts'
export type { Context, Facts } from './turn.ts'
export { type Blocked, type Contention, contentionOf, type Holder, type PlacesOfSession } from './view/contention.ts'
export type { GrantView, KeptView, PauseView, RecentView, ResourceView, WaiterPage, WaiterView } from './view/view.ts'
export {
  lateSkip,
  type SessionLease,
  type Standing,
  sessionsOfGrants,
  standingOf,
  viewOf,
  waitersOf,
  withLeases,
} from './view/view.ts'
export { whyWaiting } from './view/why.ts'
