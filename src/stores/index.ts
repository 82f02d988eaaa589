/**
 * What it takes to write a store: the contract, its errors, and what stores share. `storeConformance` in `baton/testing`
 * says whether one keeps to it. For a store in a database, `baton/stores/remote` has the engine, and only a `Backend` has to
 * be written. The rules themselves are in `baton/core`.
 */
export type {
  ActorName,
  AskName,
  Command,
  Event,
  Facts,
  Policy,
  Refused,
  ReplyTo,
  ResourceView,
  Skip,
  Standing,
  WaiterPage,
} from '../core/index.ts'
export { addressOf, hashOf, nameOf, shardOf } from './address.ts'
export { restore, type WrittenResource, writtenOf } from './codec.ts'
export type { OpenStoreOptions } from './kind.ts'
export { hasSomethingToShow, WAITERS_SHOWN } from './listing.ts'
export {
  type Address,
  type AskAt,
  type Clock,
  type Counts,
  type DirectSteps,
  type ListQuery,
  type Page,
  type Place,
  SESSION_LOST,
  type SessionReply,
  type SessionRequest,
  type Store,
  type StoreEvent,
  StoreUnavailable,
  StoreUnreachable,
  UnknownOutcome,
  type VersionedPolicy,
} from './store.ts'
export { openStore } from './table.ts'
export { systemTiming, type Timing } from './timing.ts'
export { type View, Views } from './views.ts'
