import type { WhenUnavailable } from './api.ts'
import type { Deadlocks } from './asks/deadlocks.ts'
import type { Environment } from './environment.ts'
import type { UsualHolds } from './grants/usual-holds.ts'
import type { Sender } from './requests/sender.ts'
import type { List } from './session/list.ts'
import type { ClientSessions } from './session/session.ts'
import type { SessionStream } from './session/session-stream.ts'

/** What the parts of one client share. */
export interface ClientParts extends Environment {
  readonly node: string
  readonly namespace: string
  /** For owners and holds: unique, but no secret. */
  nextName(): string
  readonly ttlMs: number
  /** How long a waiter relies on events; then it asks again. */
  readonly trustMs: number
  readonly whenUnavailable: WhenUnavailable
  readonly sender: Sender
  readonly sessions: ClientSessions
  readonly stream: SessionStream
  readonly usualHolds: UsualHolds
  readonly deadlocks: Deadlocks
  /** Everything that is under way, and ends when the client is closed. */
  readonly open: List<Closable>
}

export interface Closable {
  close(): void | Promise<void>
}
