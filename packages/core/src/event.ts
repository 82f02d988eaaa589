import type { Answer, Json, Outcome } from './reply.ts'

/** One actor on one key. */
export interface KeyActor {
  readonly operation: string
  readonly node: string
  readonly owner: string
}

interface OnResource {
  readonly namespace: string
  readonly resource: string
  readonly atMs: number
}

interface OnKey extends OnResource {
  readonly operation: string
}

/** On one key, about one actor: a holder or a waiter. */
interface ByActor extends OnResource, KeyActor {}

/**
 * A change that a step made, as everybody gets it (docs/protocol.md). It never contains a session id: knowing the id
 * is enough to act for the session.
 */
export type Event =
  | ({ readonly type: 'queued'; readonly position: number; readonly revision?: string | undefined } & ByActor)
  | ({
      readonly type: 'granted'
      readonly fence: number
      readonly attempt: number
      /** The grant went to a waiter, who has to claim it. */
      readonly handOver: boolean
      /** Of a hand-over: how long the waiter waited. */
      readonly waitedMs?: number | undefined
      readonly revision?: string | undefined
    } & ByActor)
  /** A waiter has claimed its grant. */
  | ({ readonly type: 'claimed'; readonly fence: number } & ByActor)
  /** Waiters have left the queue with this answer. One event for all of them. */
  | ({
      readonly type: 'told'
      readonly answer: Answer
      readonly count: number
      /** Added for delivery: a waiter gets its own place, and observers get the first waiters. */
      readonly askers?: readonly KeyActor[] | undefined
    } & OnKey)
  /** A waiter has left the queue without an answer: it gave up, or its session was lost. */
  | ({ readonly type: 'left' } & ByActor)
  /** One hold of several has ended; the grant continues. */
  | ({ readonly type: 'hold-ended'; readonly fence: number } & ByActor)
  | ({
      readonly type: 'ended'
      readonly fence: number
      readonly attempt: number
      readonly outcome: Outcome
      /** The time since the grant. */
      readonly heldMs: number
      readonly revision?: string | undefined
      /** Waiters with the same revision skip on it. */
      readonly skips?: true | undefined
    } & ByActor)
  /**
   * A progress report of the holder. Waiters get the latest report, once a second at most; if that is later than the
   * report, observers get it twice.
   */
  | ({
      readonly type: 'progress'
      readonly fence: number
      readonly progress: Json
      /** Added for delivery to a waiter: its own place. */
      readonly askers?: readonly KeyActor[] | undefined
    } & ByActor)
  | ({ readonly type: 'referenced' | 'dereferenced'; readonly node: string } & OnResource)

/**
 * A recipient of an event, and the sessions that it is reached by. Recipients are sent to other processes of the
 * store, and to nobody else.
 */
export interface Recipient extends KeyActor {
  /** `undefined`: all holds of the actor. */
  readonly hold?: string | undefined
  readonly sessions: readonly string[]
  /** Of a `told`: how long the waiter waited. */
  readonly waitedMs?: number | undefined
}

/** An event and its recipients. All other listeners are observers. */
export interface AddressedEvent {
  readonly event: Event
  readonly to: readonly Recipient[]
}

/** No recipients: only observers get the event. */
export const NOBODY: readonly Recipient[] = []

const NO_SESSIONS: readonly string[] = []

/** The recipient of what concerns one hold or one place in line. */
export function recipientOf(
  { operation, node, owner, hold }: KeyActor & { readonly hold: string },
  session: string | undefined,
  waitedMs?: number,
): Recipient {
  return { operation, node, owner, hold, sessions: session === undefined ? NO_SESSIONS : [session], waitedMs }
}
