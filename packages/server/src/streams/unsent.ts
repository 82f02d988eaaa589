import { type Log, noLog, type Timers } from '@baton-lock/service'
import type { ServerLimits } from '../limits.ts'

/** Cuts are told one by one when they are rare, and by their number when they are many. */
const LOG_MS = 1_000

/** One to whom the server writes: a stream, a WebSocket, a connection whose requests are answered. */
interface Reader {
  /** Writes now what is gathered for it. */
  write?(): void
  /** Ends it; all that it has not read is dropped. */
  cut(): void
}

/** What is held for one reader. */
export class Held {
  readonly reader: Reader
  bytes = 0
  /** Some of it was read since it was last looked at. */
  hasMoved = true
  isCut = false

  constructor(reader: Reader) {
    this.reader = reader
  }
}

interface UnsentOptions {
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly log?: Log
}

/**
 * All that the server holds because somebody has not read it yet, whatever path it goes by. Whoever writes reports how much it
 * is for each reader. Beyond the limit of all together the readers that hold most are cut, and so is one that reads nothing.
 */
export class Unsent {
  readonly #limits: ServerLimits
  readonly #timers: Timers
  readonly #log: Log
  readonly #holding = new Set<Held>()
  #bytes = 0
  #cuts = 0
  #unlogged = 0
  #isMakingRoom = false
  #stopLooking: (() => void) | undefined
  #stopLogging: (() => void) | undefined

  constructor({ limits, timers, log = noLog }: UnsentOptions) {
    this.#limits = limits
    this.#timers = timers
    this.#log = log
  }

  get bytes(): number {
    return this.#bytes
  }

  /** How many slow readers were cut so far. */
  get cuts(): number {
    return this.#cuts
  }

  /** So much is held for it now. May cut others, or it. */
  report(held: Held, bytes: number): void {
    const before = held.bytes
    if (bytes === before || held.isCut) return
    held.bytes = bytes
    this.#bytes += bytes - before
    if (bytes === 0) this.#holding.delete(held)
    else if (before === 0) {
      held.hasMoved = true
      this.#holding.add(held)
      this.#stopLooking ??= this.#timers.after(this.#limits.unreadMs, () => this.#look())
    }
    if (bytes < before) held.hasMoved = true
    else if (this.#bytes > this.#limits.allStreamsBytes) this.#makeRoom()
  }

  cut(held: Held): void {
    if (held.isCut) return
    const { bytes } = held
    this.report(held, 0)
    held.isCut = true
    this.#cuts++
    this.#logCut(bytes)
    held.reader.cut()
  }

  close(): void {
    this.#stopLooking?.()
    this.#stopLogging?.()
  }

  /**
   * What is only gathered is written first, as it may be read at once. A twentieth of the room is made at a time, so that a
   * message costs little however many readers there are.
   */
  #makeRoom(): void {
    if (this.#isMakingRoom) return
    this.#isMakingRoom = true
    const enough = 0.95 * this.#limits.allStreamsBytes
    for (const { reader } of this.#holding) {
      if (this.#bytes <= enough) break
      reader.write?.()
    }
    if (this.#bytes > enough) {
      for (const held of [...this.#holding].sort((a, b) => b.bytes - a.bytes)) {
        if (this.#bytes <= enough) break
        this.cut(held)
      }
    }
    this.#isMakingRoom = false
  }

  #look(): void {
    for (const held of this.#holding) {
      if (!held.hasMoved) this.cut(held)
      held.hasMoved = false
    }
    this.#stopLooking =
      this.#holding.size > 0 ? this.#timers.after(this.#limits.unreadMs, () => this.#look()) : undefined
  }

  #logCut(unreadBytes: number): void {
    if (this.#stopLogging) {
      this.#unlogged++
      return
    }
    this.#log.warn('slow reader cut', { unreadBytes })
    this.#stopLogging = this.#timers.after(LOG_MS, () => {
      this.#stopLogging = undefined
      if (this.#unlogged > 0) this.#log.warn('slow readers cut', { count: this.#unlogged })
      this.#unlogged = 0
    })
  }
}
