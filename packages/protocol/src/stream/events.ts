import type { Event, KeyActor, ResourceView, Standing } from '@baton-lock/core'

/** One actor on one key: what hangs off a session. A hold, a grant not yet claimed, or a place in line. */
export interface Place extends KeyActor {
  readonly namespace: string
  readonly resource: string
}

/** A place, and how it stands. */
export interface PlaceState extends Place {
  readonly standing: Standing
}

/** The first event of every stream: how things are at that moment. */
export type StateEvent =
  | { readonly type: 'state'; readonly of: 'ask'; readonly standing: Standing }
  | { readonly type: 'state'; readonly of: 'session'; readonly alive: boolean; readonly places: readonly PlaceState[] }
  | { readonly type: 'state'; readonly of: 'resource'; readonly view: ResourceView | null }
  | { readonly type: 'state'; readonly of: 'all' }

/**
 * One part of a state that is too large for one frame; `more` until the last. It has a name of its own, so that nobody who does not
 * know of parts takes one for all there is.
 */
export type StatePart =
  | {
      readonly type: 'state-part'
      readonly of: 'session'
      readonly places: readonly PlaceState[]
      readonly more: boolean
    }
  | { readonly type: 'state-part'; readonly of: 'resource'; readonly view: ResourceView; readonly more: boolean }

/** What listeners get: what a stream begins with, and then what happens. */
export type WireEvent =
  | StateEvent
  /** The events since the given id are no longer known; a `state` follows. */
  | { readonly type: 'reset' }
  | Event

/** What has happened since the one before it, for one who listens with `gatherMs`. */
export interface GatheredEvent {
  readonly type: 'gathered'
  /** The last of them, oldest first. */
  readonly events: readonly Event[]
  /** How many came before these. */
  readonly omitted: number
  /** The resources that have changed; `more` where there were others too. */
  readonly changed: readonly (readonly [namespace: string, resource: string])[]
  readonly more: boolean
}

/** An event as a stream carries it. */
export type StreamedEvent = WireEvent | StatePart
