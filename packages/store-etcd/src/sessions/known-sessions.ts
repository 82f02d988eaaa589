import type { Clock } from '@baton-lock/store/store'
import type { KeyValue } from '../etcd.ts'
import { type Keys, partsIn } from '../keys.ts'
import type { StoredSession } from './stored-session.ts'

/** Of a session that is not alive. */
export interface LostSession {
  /** When that was seen here, by the clock of this process. */
  readonly seenMs: number
}

/** The sessions in the index: those that are written down, and which of them are alive. */
export class KnownSessions {
  readonly #keys: Keys
  readonly #clock: Clock
  /** Those that are written down, alive or not. */
  readonly #stored = new Map<string, StoredSession>()
  /** Those that are alive, each by the key that says so and the process that it is at. */
  readonly #alive = new Map<string, KeyValue>()
  readonly #lost = new Map<string, LostSession>()

  constructor(keys: Keys, clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  get count(): number {
    return this.#stored.size
  }

  get aliveCount(): number {
    return this.#alive.size
  }

  /** The key that says that a session is alive, and where it is. */
  alive(session: string): KeyValue | undefined {
    return this.#alive.get(session)
  }

  /** Those that are not alive: their leases are over, or somebody has begun to end them. */
  *lost(): Iterable<readonly [string, StoredSession & LostSession]> {
    for (const [session, stored] of this.#stored)
      if (!this.#alive.has(session)) yield [session, { ...stored, ...this.lostOf(session) }]
  }

  /** Since when one is not alive: of one that was taken to be until now, since now. */
  lostOf(session: string): LostSession {
    const known = this.#lost.get(session)
    if (known) return known
    const lost = { seenMs: this.#clock.nowMs() }
    // Where it is not there at all, there is nothing to remember of it.
    if (this.#stored.has(session) && !this.#alive.has(session)) this.#lost.set(session, lost)
    return lost
  }

  /** A key of the index was put, which may be one of a session's. */
  take(kv: KeyValue): void {
    const stored = this.#sessionIn(kv.key, 'sessions')
    const alive = this.#sessionIn(kv.key, 'alive')
    if (stored !== undefined) this.#stored.set(stored, JSON.parse(kv.value))
    if (alive === undefined) return
    this.#alive.set(alive, kv)
    this.#lost.delete(alive)
  }

  /** A key of the index was deleted. Gives the session that is lost with it. */
  drop(key: string): string | undefined {
    const stored = this.#sessionIn(key, 'sessions')
    if (stored !== undefined) this.#forget(stored)
    const alive = this.#sessionIn(key, 'alive')
    return alive !== undefined && this.#lose(alive) ? alive : undefined
  }

  /** Only these keys are there. Gives the sessions that are lost. */
  dropAllBut(keys: ReadonlySet<string>): readonly string[] {
    for (const session of this.#stored.keys()) if (!keys.has(this.#keys.session(session))) this.#forget(session)
    const gone = [...this.#alive.keys()].filter((session) => !keys.has(this.#keys.aliveOne(session)))
    return gone.filter((session) => this.#lose(session))
  }

  #sessionIn(key: string, kind: 'sessions' | 'alive'): string | undefined {
    const range = this.#keys[kind]
    return key.startsWith(range.key) ? partsIn(key, range)[0] : undefined
  }

  /** Says whether it was alive, and nobody has taken it away since. */
  #lose(session: string): boolean {
    if (!this.#alive.delete(session) || !this.#stored.has(session)) return false
    this.#lost.set(session, { seenMs: this.#clock.nowMs() })
    return true
  }

  #forget(session: string): void {
    this.#stored.delete(session)
    this.#lost.delete(session)
  }
}
