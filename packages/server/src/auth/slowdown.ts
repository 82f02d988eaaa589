import type { Duplex } from 'node:stream'
import type { Timers } from '@baton-lock/service'

/** So many in a round are answered at once: everybody makes a mistake. */
const AT_ONCE = 5
const DELAY_MS = 1_000
const ROUND_MS = 60_000
const KEYS_MAX = 10_000
/** Those that wait, under one key and in all. Each holds a connection. */
const WAITING_MAX = { key: 50, all: 1_000 }

interface Noted {
  count: number
  waiting: number
}

/** Whoever has broken a rule again and again waits a second for what it asks for next. Counted by the minute. */
export class Slowdown<Key> {
  readonly #timers: Timers
  readonly #onRound: () => void
  /** Those of this round. */
  readonly #noted = new Map<Key, Noted>()
  #waiting = 0
  #isRound = false

  /** `onRound`: a round is over, and what was noted in it is forgotten after this. */
  constructor(timers: Timers, onRound: () => void = () => {}) {
    this.#timers = timers
    this.#onRound = onRound
  }

  get size(): number {
    return this.#noted.size
  }

  /** The key with most, in this round. */
  get most(): Key | undefined {
    const rows = [...this.#noted]
    return rows.length === 0 ? undefined : rows.reduce((most, row) => (row[1].count > most[1].count ? row : most))[0]
  }

  note(key: Key): void {
    const noted = this.#noted.get(key) ?? { count: 0, waiting: 0 }
    noted.count++
    const [oldest] = this.#noted.size >= KEYS_MAX ? this.#noted.keys() : []
    if (noted.count === 1 && oldest !== undefined) this.#noted.delete(oldest)
    this.#noted.set(key, noted)
    if (this.#isRound) return
    this.#isRound = true
    this.#timers.after(ROUND_MS, () => {
      this.#isRound = false
      this.#onRound()
      this.#noted.clear()
    })
  }

  /** Resolves when it may go on. Where too many wait for that, the connection is closed. */
  async wait(key: Key, connection: Duplex): Promise<void> {
    const noted = this.#noted.get(key)
    if (!noted || noted.count <= AT_ONCE) return
    if (noted.waiting >= WAITING_MAX.key || this.#waiting >= WAITING_MAX.all) {
      connection.destroy()
      return
    }
    noted.waiting++
    this.#waiting++
    await new Promise<void>((resolve) => this.#timers.after(DELAY_MS, resolve))
    noted.waiting--
    this.#waiting--
  }
}
