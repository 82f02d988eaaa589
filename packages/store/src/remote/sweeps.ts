import type { AddressedEvent } from '@baton-lock/core'
import type { Timing } from '../timing.ts'
import type { Backend, Due } from './backend.ts'

/** Every process looks at least as often for deadlines that it has not heard of. */
const FIND_MS = 10_000
/** And not more often because somebody stands in line. */
const FIND_AGAIN_MS = 500
/** Processes that wake for the same deadline come one after the other: the first has done it when the next one looks. */
const SPREAD_MS = 100
const CLEAR_MS = 10_000

/** What a process knows of when something is due, and how many wait: from its own steps, letters, and looking. */
export class Sweeps {
  readonly #backend: Backend
  readonly #timing: Timing
  #nextMs: number | undefined
  #foundAtMs: number
  #spreadMs = 0
  #clearedAtMs: number
  #hasLitter = false
  #waiting = 0

  constructor(backend: Backend, timing: Timing) {
    this.#backend = backend
    this.#timing = timing
    this.#foundAtMs = backend.nowMs()
    this.#clearedAtMs = timing.monoMs()
  }

  /** How many wait in all. */
  get waiting(): number {
    return this.#waiting
  }

  nextMs(): number {
    const dueMs = this.#nextMs === undefined ? Infinity : this.#nextMs + this.#spreadMs
    return Math.min(dueMs, this.#foundAtMs + FIND_MS)
  }

  /** Something is due then. */
  expect(atMs: number | undefined): void {
    if (atMs !== undefined) this.#nextMs = Math.min(this.#nextMs ?? atMs, atMs)
  }

  /** A step of this process has done this. */
  noteSteps(events: readonly AddressedEvent[], waiting: number): void {
    this.#waiting = Math.max(0, this.#waiting + waiting)
    // Only what ends leaves something behind.
    this.#hasLitter ||= events.some(({ event: { type } }) => type === 'ended' || type === 'told')
    // Whoever is in the way may have a deadline that was not known here when this process looked last.
    if (events.some(({ event: { type } }) => type === 'queued')) this.expect(this.#foundAtMs + FIND_AGAIN_MS)
  }

  /** Looks what is due. */
  async findDue(limit: number): Promise<Due> {
    const knownMs = this.#nextMs
    // What is heard of while this looks is not in what it finds.
    this.#nextMs = undefined
    const due = await this.#backend.due(limit).catch((error) => {
      this.expect(knownMs)
      throw error
    })
    this.#foundAtMs = this.#backend.nowMs()
    this.#spreadMs = Math.floor(this.#timing.random() * SPREAD_MS)
    this.expect(due.nextMs)
    this.#waiting = due.waiting
    return { ...due, sessions: this.#shuffled(due.sessions) }
  }

  /** Clears away what this process may have left behind, now and then. One that does nothing leaves it to those that do. */
  async clear(pauseMs = CLEAR_MS): Promise<void> {
    if (!this.#hasLitter || this.#timing.monoMs() < this.#clearedAtMs + pauseMs) return
    this.#clearedAtMs = this.#timing.monoMs()
    this.#hasLitter = false
    await this.#backend.clear()
  }

  /** So that processes which find the same sessions do not end them side by side. */
  #shuffled(sessions: readonly string[]): readonly string[] {
    const places = sessions.map((session) => ({ session, at: this.#timing.random() }))
    return places.sort((a, b) => a.at - b.at).map(({ session }) => session)
  }
}
