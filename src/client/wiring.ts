import type { WhenUnavailable } from './api.ts'
import type { Bag } from './bag.ts'
import type { Contact, Environment } from './contact.ts'
import type { ClientSessions } from './session.ts'
import type { SessionStream } from './session-stream.ts'

/** What the parts of one client share. */
export interface Wiring extends Environment {
  readonly node: string
  readonly namespace: string
  /** For owners and holds: nobody else's, and no secret. */
  nextName(): string
  readonly ttlMs: number
  /** How long one that waits for events trusts that none was lost; then it asks again. */
  readonly trustMs: number
  readonly whenUnavailable: WhenUnavailable
  readonly contact: Contact
  readonly sessions: ClientSessions
  readonly stream: SessionStream
  /** Everything that is under way: what closing the client has to end. */
  readonly open: Bag<Closable>
}

export interface Closable {
  close(): void | Promise<void>
}
