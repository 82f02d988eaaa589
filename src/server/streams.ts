import type { ServerResponse } from 'node:http'
import { SSE_HEARTBEAT } from '../protocol/index.ts'
import { type Log, noLog, type Timers } from '../service/index.ts'
import type { ServerLimits } from './limits.ts'
import { Refusal } from './refusal.ts'
import { Stream } from './stream.ts'

const HEARTBEAT_MS = 15_000

/** How many streams are written in one turn of the event loop: requests are answered in between. */
const FLUSH_SLICE = 200

interface StreamsOptions {
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly log?: Log
}

/**
 * All open streams of a server: their number, their heartbeat (one timer for all) and what they may leave unread.
 * Nobody waits for a reader: one that falls behind is cut, and comes back for what it missed.
 */
export class Streams {
  readonly #limits: ServerLimits
  readonly #timers: Timers
  readonly #log: Log
  readonly #all = new Set<Stream>()
  /** Those that are no event streams but count as such. */
  readonly #others = new Set<{ cut(): void }>()
  readonly #beating = new Set<Stream>()
  #ready = new Set<Stream>()
  #flushing = false
  #stopHeartbeat: (() => void) | undefined
  #closed = false
  #cut = 0

  constructor({ limits, timers, log = noLog }: StreamsOptions) {
    this.#limits = limits
    this.#timers = timers
    this.#log = log
  }

  get size(): number {
    return this.#all.size + this.#others.size
  }

  /** How many slow readers were cut so far. */
  get cut(): number {
    return this.#cut
  }

  /** Throws where there is no room for one more: before anything was written. */
  checkRoom(): void {
    if (this.#closed || this.size >= this.#limits.streams) throw new Refusal('too-many-streams')
  }

  /** Counts one of another kind among them. Returns how to leave. */
  enter(other: { cut(): void }): () => void {
    this.#others.add(other)
    return () => this.#others.delete(other)
  }

  add(response: ServerResponse, { heartbeat }: { heartbeat: boolean }): Stream {
    const stream = new Stream(response)
    this.#all.add(stream)
    if (heartbeat) {
      this.#beating.add(stream)
      this.#stopHeartbeat ??= this.#timers.after(HEARTBEAT_MS, () => this.#beat())
    }
    stream.onClose(() => {
      this.#all.delete(stream)
      this.#beating.delete(stream)
      this.#ready.delete(stream)
    })
    return stream
  }

  send(stream: Stream, text: string): void {
    if (stream.isClosed) return
    stream.gather(text)
    if (stream.pending > this.#limits.streamBytes) this.#cutSlow(stream)
    else this.#ready.add(stream)
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  close(): void {
    this.#closed = true
    this.#stopHeartbeat?.()
    for (const stream of [...this.#all, ...this.#others]) stream.cut()
  }

  #flush(): void {
    const shareBytes = this.#shareBytes()
    let count = 0
    for (const stream of this.#ready) {
      if (count++ === FLUSH_SLICE) break
      this.#ready.delete(stream)
      // A burst is no sign of a slow reader; one that has not taken what came before it is.
      const { unread } = stream
      if (unread > 0 && unread + stream.pending > shareBytes) this.#cutSlow(stream)
      else stream.flush()
    }
    this.#flushing = this.#ready.size > 0
    if (this.#flushing) setImmediate(() => this.#flush())
  }

  #shareBytes(): number {
    const { streamBytes, allStreamsBytes, streamLeastBytes } = this.#limits
    return Math.max(streamLeastBytes, Math.min(streamBytes, allStreamsBytes / Math.max(1, this.#all.size)))
  }

  #cutSlow(stream: Stream): void {
    this.#cut++
    this.#log('slow reader cut', { unreadBytes: stream.unread, pending: stream.pending })
    stream.cut()
  }

  #beat(): void {
    for (const stream of this.#beating) this.send(stream, SSE_HEARTBEAT)
    this.#stopHeartbeat = this.#beating.size > 0 ? this.#timers.after(HEARTBEAT_MS, () => this.#beat()) : undefined
  }
}
