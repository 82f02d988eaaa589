import type { Facts, NamespacePolicy, Reply } from '@baton-lock/core'

export interface Actor {
  node: string
  owner: string
}

export interface Lease {
  session?: string
  untilMs: number
  ttlMs: number
}

export interface Ask extends Actor {
  op: string
  hold: string
  rev?: string
  said?: number
  disbelieved?: number
  ref: boolean
  verifies: boolean
  classic: boolean
  lease: Lease
  waitUntilMs: number
}

export interface Held extends Ask {
  fence: number
  attempt: number
  previous?: { node: string; outcome: string; error?: string; traceparent?: string }
  claimByMs?: number
  holds: { id: string; lease: Lease }[]
  progress?: unknown
}

export interface Ended {
  outcome: string
  error?: string
  by?: string
  permanent?: boolean
  result?: unknown
  resultOmitted?: boolean
  effect?: string
  keepMs?: number
  traceparent?: string
}

/** What is remembered of an ask. Without a node it is about whichever actor uses the owner. */
export interface Memory {
  op: string
  owner: string
  hold: string
  node?: string
  untilMs: number
}

/** What an ask was told, and what it had said. */
interface Told {
  rev?: string
  said?: number
  answer: Reply
}

/** One resource. Everything is a list, the oldest first; nothing is clever. Copying it is `structuredClone(model)`. */
export interface Model {
  fence: number
  held: Held[]
  line: Ask[]
  pauses: { op: string; untilMs: number; rev?: string; attempt: number; previous?: Held['previous'] }[]
  kept: Kept[]
  references: string[]
  /** When each node last said that it uses the resource, and when a reference last went, by their numbers. */
  numbers?: { last: number; lastRelease: number; of: Record<string, number> }
  /** The last grant of each operation that was begun, where it was revoked. */
  revoked: { op: string; fence: number; node: string; untilMs: number }[]
  answers: (Memory & Told & { repeatUntilMs?: number })[]
  /** Asks that have ended. Those that were told so without having had a grant: what, and until when it is said again. */
  released: (Memory & { fence: number; reply: Reply; told?: Told & { untilMs: number } })[]
}

interface Kept {
  op: string
  rev?: string
  fence: number
  node: string
  atMs: number
  result?: unknown
  resultOmitted?: boolean
  traceparent?: string
  untilMs: number
}

export function newModel(): Model {
  return { fence: 0, held: [], line: [], pauses: [], kept: [], references: [], revoked: [], answers: [], released: [] }
}

export interface ModelContext extends Facts {
  nowMs: number
  policy: NamespacePolicy
  /** The sessions that are alive. */
  alive: (session: string) => boolean
  fenceFloor?: number
}
