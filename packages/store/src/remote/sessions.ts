import type { Command } from '@baton-lock/core'
import type { OpenStoreOptions } from '../kind.ts'
import { type Place, SESSION_LOST, type SessionReply, type SessionRequest } from '../store.ts'
import type { Backend, EndedSession } from './backend.ts'
import { eachOf } from './each-of.ts'
import { letterText } from './letter.ts'

interface RemoteSessionsOptions {
  readonly step: (place: Place, command: Command) => Promise<unknown>
  readonly onSession?: OpenStoreOptions['onSession']
}

/** Sessions in a database. One is alive until its time is over by the clock that counts, or until it is ended. */
export class RemoteSessions {
  readonly #backend: Backend
  readonly #options: RemoteSessionsOptions
  /** Those that are at this process: they were last opened or renewed here. */
  readonly #here = new Set<string>()
  /** Those that are being renewed, and of them those that have moved meanwhile. */
  readonly #renewing = new Map<string, { isMoved: boolean }>()
  /** Those that are being ended, each by how. */
  readonly #ending: Readonly<Record<HowEnded, Map<string, Promise<void>>>> = { left: new Map(), lost: new Map() }

  constructor(backend: Backend, options: RemoteSessionsOptions) {
    this.#backend = backend
    this.#options = options
  }

  isHere(session: string): boolean {
    return this.#here.has(session)
  }

  /** Any of them may be at another process now: nobody has told this one. Those that are here are known again once they are renewed. */
  missed(): void {
    for (const session of [...this.#here, ...this.#renewing.keys()]) this.moved(session)
  }

  /** It is at another process now. */
  moved(session: string): void {
    this.#here.delete(session)
    const renewal = this.#renewing.get(session)
    if (renewal) renewal.isMoved = true
  }

  async open(request: SessionRequest): Promise<SessionReply> {
    const { session, ttlMs } = request
    for (;;) {
      const reply = await this.renew(session)
      if (reply.status === 'alive') return reply
      // It may be there still, though its time is over: what hangs off it belongs to its earlier life.
      await this.end(session, 'lost')
      if (!(await this.#backend.insertSession(request))) continue
      this.#here.add(session)
      this.#options.onSession?.(session, 'opened')
      return { status: 'alive', ttlMs, places: 0 }
    }
  }

  async renew(session: string): Promise<SessionReply> {
    const renewal = { isMoved: false }
    this.#renewing.set(session, renewal)
    try {
      const renewed = await this.#backend.renewSession(session, letterText({ moved: session }))
      // Where it moved at the same time, it is not known which came last: then its process is looked up whenever it matters.
      if (renewed && !renewal.isMoved) this.#here.add(session)
      else this.#here.delete(session)
      return renewed ? { status: 'alive', ...renewed } : SESSION_LOST
    } finally {
      this.#renewing.delete(session)
    }
  }

  /** Ends the session, then takes its places away. Who dies in the middle is followed by another. */
  end(session: string, how: HowEnded): Promise<void> {
    const ending = this.#ending[how]
    const ended = ending.get(session) ?? this.#end(session, how).finally(() => ending.delete(session))
    ending.set(session, ended)
    return ended
  }

  async #end(session: string, how: HowEnded): Promise<void> {
    const ended = await this.#backend.endSession(session, how)
    if (!ended) return
    this.#options.onSession?.(session, ended.how)
    await eachOf(ended.places, PLACES_AT_ONCE, (place) => {
      const { operation, node, owner } = place
      const lost = { session, operation, node, owner }
      const command: Command =
        ended.how === 'left' ? { type: 'leave', ...lost, closed: true } : { type: 'session-lost', ...lost }
      return this.#options.step(place, command)
    })
    await this.#backend.removeSession(session)
    this.#here.delete(session)
  }
}

type HowEnded = EndedSession['how']

/** Those on one resource go together; but others have to come in between. */
const PLACES_AT_ONCE = 64
