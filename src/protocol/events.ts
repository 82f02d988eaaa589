import type { Answer, Json, Outcome, ResourceView, Standing } from '../core/index.ts'

interface OnKey {
  readonly namespace: string
  readonly resource: string
  readonly operation: string
  readonly atMs: number
}

/** Whom it is about. Sessions are never named: knowing one is being it. */
interface ByOwner extends OnKey {
  readonly node: string
  readonly owner: string
}

/** One actor on one key: what hangs off a session. A hold, a grant not yet claimed, or a place in line. */
export interface Place extends Omit<ByOwner, 'atMs' | 'node'> {
  /** Absent only for what an older version has written down. */
  readonly node?: string | undefined
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

/** An event as listeners get it. */
export type WireEvent =
  | StateEvent
  /** The events since the given id are no longer known; a `state` follows. */
  | { readonly type: 'reset' }
  | ({ readonly type: 'queued'; readonly position: number; readonly revision?: string } & ByOwner)
  | ({
      readonly type: 'granted'
      readonly fence: number
      readonly attempt: number
      readonly handOver: boolean
      readonly revision?: string
    } & ByOwner)
  | ({ readonly type: 'claimed'; readonly fence: number } & ByOwner)
  | ({ readonly type: 'left' } & ByOwner)
  | ({ readonly type: 'hold-ended'; readonly fence: number } & ByOwner)
  /** To the one who waited. */
  | ({ readonly type: 'told'; readonly answer: Answer } & ByOwner)
  /** To those who watch: so many were told; the first of them by name. */
  | ({
      readonly type: 'told'
      readonly answer: Answer
      readonly count: number
      readonly askers: readonly { readonly node: string; readonly owner: string }[]
    } & OnKey)
  /** `skips`: whoever waited for the same revision skips on it. */
  | ({
      readonly type: 'ended'
      readonly fence: number
      readonly attempt: number
      readonly revision?: string
      readonly skips?: true
    } & Outcome &
      ByOwner)
  /** To those who watch: `node` and `owner` are the holder. */
  | ({ readonly type: 'progress'; readonly fence: number; readonly progress: Json } & ByOwner)
  /** To one who waits, once a second at most: how far the node is that it waits for. */
  | ({ readonly type: 'progress'; readonly by: string; readonly fence: number; readonly progress: Json } & ByOwner)
  | ({ readonly type: 'referenced' | 'dereferenced'; readonly node: string } & Omit<OnKey, 'operation'>)

/** What has happened since the one before it, for one who listens with `gatherMs`. */
export interface GatheredEvent {
  readonly type: 'gathered'
  /** The last of them, oldest first. */
  readonly events: readonly WireEvent[]
  /** How many came before these. */
  readonly omitted: number
  /** The resources that have changed; `more` where there were others too. */
  readonly changed: readonly (readonly [namespace: string, resource: string])[]
  readonly more: boolean
}

/** An event as a stream carries it. */
export type StreamedEvent = WireEvent | StatePart
