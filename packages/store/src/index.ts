/**
 * The contract of a store, its errors, and what stores share. Users import it from `baton-lock/stores`, with the remote engine,
 * for which a store in a database only has to implement `Backend`. `storeConformance` of `@baton-lock/testing` tests a store
 * against the contract.
 */
export type {
  ActorName,
  AddressedEvent,
  AskName,
  Blocked,
  Command,
  Contention,
  EndedAsk,
  Event,
  Facts,
  Holder,
  KeptAnswer,
  KeyActor,
  PlaceChanges,
  PlacesOfSession,
  Policy,
  Recipient,
  Refused,
  Reply,
  ReplyTo,
  ResourceView,
  SessionLease,
  Skip,
  Standing,
  Waiter,
  WaiterPage,
} from '@baton-lock/core'
export { addressOf, hashOf, nameOf, shardOf } from './address.ts'
export { restore, type WrittenResource, writtenOf } from './codec.ts'
export type { OpenStoreOptions } from './kind.ts'
export { hasSomethingToShow, WAITERS_SHOWN } from './listing.ts'
export {
  type Address,
  type AskAt,
  type Clock,
  type Counts,
  durableStep,
  type EventListener,
  type ListQuery,
  type Page,
  type Place,
  type QueueDepth,
  SESSION_LOST,
  type SessionReply,
  type SessionRequest,
  type StepReply,
  type Store,
  StoreUnavailable,
  StoreUnreachable,
  UnknownFormat,
  UnknownOutcome,
  type VersionedPolicy,
} from './store.ts'
export { systemTiming, type Timing } from './timing.ts'
export { type View, Views } from './views.ts'
