import type { Answer, Json, Outcome } from './reply.ts'

/** Whom an event is for. */
export interface Asker {
  readonly owner: string
  readonly node: string
  readonly hold: string
  readonly session: string | undefined
}

/** What a step changed, for those who listen. */
export type Event =
  | {
      readonly type: 'queued'
      readonly operation: string
      readonly asker: Asker
      readonly position: number
      readonly revision?: string
    }
  /** `handOver`: it went to a waiter, who has to claim it. */
  | {
      readonly type: 'granted'
      readonly operation: string
      readonly asker: Asker
      readonly fence: number
      readonly attempt: number
      readonly handOver: boolean
      /** Of a hand-over: how long it stood in line. */
      readonly waitedMs?: number
      readonly revision?: string
    }
  /** A waiter has claimed its grant. */
  | { readonly type: 'claimed'; readonly operation: string; readonly asker: Asker; readonly fence: number }
  /** These waiters have left the queue with this answer: one event however many they are. */
  | {
      readonly type: 'told'
      readonly operation: string
      readonly askers: readonly (Asker & { readonly waitedMs?: number })[]
      readonly answer: Answer
    }
  /** This one has left the queue without being told: it went, or its session did. */
  | { readonly type: 'left'; readonly operation: string; readonly asker: Asker }
  /** One hold of several is gone; the grant lives. */
  | { readonly type: 'hold-ended'; readonly operation: string; readonly asker: Asker; readonly fence: number }
  | {
      readonly type: 'ended'
      readonly operation: string
      readonly owner: string
      readonly node: string
      readonly sessions: readonly string[]
      readonly fence: number
      readonly outcome: Outcome
      readonly attempt: number
      /** How long it was held, from the grant on. */
      readonly heldMs?: number
      readonly revision?: string
      /** Whoever waited for the same revision skips on it. */
      readonly skips?: true
    }
  | {
      readonly type: 'progress'
      readonly operation: string
      readonly owner: string
      readonly node: string
      readonly fence: number
      readonly progress: Json
    }
  /** The same for those who wait: `owner` and `node` are the holder's. */
  | {
      readonly type: 'progress-told'
      readonly operation: string
      readonly askers: readonly (Asker & { readonly operation: string })[]
      readonly owner: string
      readonly node: string
      readonly fence: number
      readonly progress: Json
    }
  | { readonly type: 'referenced'; readonly node: string }
  | { readonly type: 'dereferenced'; readonly node: string }

/** One whom an event concerns: on which key, and the sessions that it hangs off there. */
export interface Concern {
  readonly operation: string
  readonly node: string
  readonly owner: string
  readonly sessions: readonly string[]
}

/** Whom an event concerns. Whoever carries events asks this, and nobody else decides it. */
export function concernsOf(event: Event): readonly Concern[] {
  switch (event.type) {
    case 'queued':
    case 'granted':
    case 'claimed':
    case 'left':
    case 'hold-ended':
      return [concernOf(event.operation, event.asker)]
    case 'told':
      return event.askers.map((asker) => concernOf(event.operation, asker))
    case 'progress-told':
      return event.askers.map((asker) => concernOf(asker.operation, asker))
    case 'ended':
      return [event]
    case 'progress':
    case 'referenced':
    case 'dereferenced':
      return []
  }
}

function concernOf(operation: string, { node, owner, session }: Asker): Concern {
  return { operation, node, owner, sessions: session === undefined ? [] : [session] }
}
