import type { Service, Timers } from '@baton-lock/service'
import type { Streams } from '../streams/streams.ts'
import { type ClassicAsk, type ClassicKey, placeOf } from './ask.ts'
import { KeyWatch } from './key-watch.ts'

/** How often a hand-over is repeated until it is claimed. */
const REPEAT_MS = 300

/** How often the places of those who listen without giving a name are renewed; they live for three of these. */
const RENEW_MS = 20_000
export const PLACE_TTL_MS = 60_000

interface Entry {
  readonly watch: KeyWatch
  readonly started: Promise<void>
  users: number
}

/** The watches of all keys that have subscribers, with one timer each for what is repeated and what is renewed. */
export class KeyWatches {
  readonly #service: Service
  readonly #streams: Streams
  readonly #timers: Timers
  readonly #entries = new Map<string, Entry>()
  readonly #asked = new Map<string, Map<string, { readonly ask: ClassicAsk; readonly atMs: number }>>()
  #stopRepeating: (() => void) | undefined
  #stopRenewing: (() => void) | undefined
  #closed = false

  constructor(options: { service: Service; streams: Streams; timers: Timers }) {
    this.#service = options.service
    this.#streams = options.streams
    this.#timers = options.timers
  }

  /** The watch of a key, to be given back by `leave`. */
  async enter(key: ClassicKey): Promise<KeyWatch> {
    const name = nameOf(key)
    let entry = this.#entries.get(name)
    if (!entry) {
      const options = { service: this.#service, streams: this.#streams, onOpenEnd: () => this.#repeatLater() }
      const watch = new KeyWatch(key, options)
      entry = { watch, started: watch.start(), users: 0 }
      this.#entries.set(name, entry)
    }
    entry.users++
    try {
      await entry.started
    } catch (error) {
      this.leave(key)
      throw error
    }
    return entry.watch
  }

  leave(key: ClassicKey): void {
    const name = nameOf(key)
    const entry = this.#entries.get(name)
    if (entry && --entry.users === 0) this.#forgetIdle(name, entry)
  }

  /** A node has been queued: it may listen without saying who it is. */
  queued(ask: ClassicAsk): void {
    const name = nameOf(ask)
    const nodes = this.#asked.get(name) ?? new Map()
    this.#asked.set(name, nodes.set(ask.node, { ask, atMs: this.#service.nowMs() }))
    if (!this.#closed) this.#stopRenewing ??= this.#timers.after(RENEW_MS, () => void this.#renew())
  }

  /** A node has been told something else than to wait. */
  answered(ask: ClassicAsk): void {
    if (this.#asked.size === 0) return
    const nodes = this.#asked.get(nameOf(ask))
    if (nodes?.delete(ask.node) && nodes.size === 0) this.#asked.delete(nameOf(ask))
  }

  close(): void {
    this.#closed = true
    this.#stopRepeating?.()
    this.#stopRenewing?.()
    for (const { watch } of this.#entries.values()) watch.stop()
    this.#entries.clear()
    this.#asked.clear()
  }

  #repeatLater(): void {
    if (!this.#closed) this.#stopRepeating ??= this.#timers.after(REPEAT_MS, () => this.#repeat())
  }

  #repeat(): void {
    this.#stopRepeating = undefined
    for (const [name, entry] of this.#entries) {
      if (entry.watch.hasOpenEnd) {
        // What cannot be looked up now is looked up at the next turn.
        entry.watch.repeat().catch(() => {})
        this.#repeatLater()
      } else this.#forgetIdle(name, entry)
    }
  }

  /** A watch with something left to say outlives its subscribers: the known client comes and goes between lines. */
  #forgetIdle(name: string, { watch, users }: Entry): void {
    if (users > 0 || watch.hasOpenEnd) return
    watch.stop()
    this.#entries.delete(name)
  }

  /**
   * A subscription without a name says nothing of anybody: while one is open, all who were queued here keep their
   * places, and whether they live shows when they are to claim.
   */
  async #renew(): Promise<void> {
    for (const [name, nodes] of [...this.#asked]) {
      const watch = this.#entries.get(name)?.watch
      for (const [node, { ask, atMs }] of [...nodes]) {
        const gone = watch?.mayHear(node) ? await this.#hasLostPlace(ask) : this.#service.nowMs() - atMs >= PLACE_TTL_MS
        if (gone && nodes.get(node)?.atMs === atMs) nodes.delete(node)
      }
      if (nodes.size === 0 && this.#asked.get(name) === nodes) this.#asked.delete(name)
    }
    const goesOn = this.#asked.size > 0 && !this.#closed
    this.#stopRenewing = goesOn ? this.#timers.after(RENEW_MS, () => void this.#renew()) : undefined
  }

  async #hasLostPlace(ask: ClassicAsk): Promise<boolean> {
    const { hold: _, ...place } = placeOf(ask)
    const reply = await this.#service.call({ type: 'renew', ...place }).catch(() => undefined)
    return reply?.status === 'refused'
  }
}

function nameOf({ operation, resource }: ClassicKey): string {
  return JSON.stringify([operation, resource])
}
