import type { ServerResponse } from 'node:http'
import { SSE_HEARTBEAT } from '@baton-lock/protocol'
import { processMs, type Scope, type Timers } from '@baton-lock/service'
import type { Asker } from '../auth/guard.ts'
import type { TokenStreams } from '../auth/token-streams.ts'
import type { ServerLimits } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import { Stream } from './http-stream.ts'
import { Held, type Unsent } from './unsent.ts'

const HEARTBEAT_MS = 15_000

/** For so long streams are written in one turn of the event loop: requests are answered in between. */
const FLUSH_MS = 2

interface StreamsOptions {
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly unsent: Unsent
  readonly tokenStreams: TokenStreams
}

/** A WebSocket, which counts among the streams. */
export interface OtherStream {
  cut(): void
  /** Tells it to move to another server. */
  move(): void
  /** Closes it, as it has not. */
  leave(): void
  /** Its token is no longer valid. */
  revoke(why: string): void
}

interface StreamOptions {
  readonly heartbeat: boolean
  /** Absent: it is never ended, only reset. */
  readonly lastWords?: string
  readonly asker: Asker
}

/**
 * All open streams of a server: their number, their heartbeat (one timer for all) and what they may leave unread.
 * Nobody waits for a reader: one that falls behind is cut, and comes back for what it missed.
 */
export class Streams {
  readonly #limits: ServerLimits
  readonly #timers: Timers
  readonly #unsent: Unsent
  readonly #tokenStreams: TokenStreams
  readonly #all = new Map<Stream, Held>()
  /** Those that are no event streams but count as such. */
  readonly #others = new Set<OtherStream>()
  /** With these words one is ended when the server goes; who has none is reset, as late as possible. */
  readonly #lastWords = new Map<Stream, string>()
  readonly #beating = new Set<Stream>()
  #ready = new Set<Stream>()
  #encoded = { text: '', bytes: Buffer.alloc(0) }
  #measured = { text: '', bytes: 0 }
  /** How many watch what. */
  readonly #watchers = new Map<string, number>()
  #flushing = false
  #stopHeartbeat: (() => void) | undefined
  #closed = false

  constructor({ limits, timers, unsent, tokenStreams }: StreamsOptions) {
    this.#limits = limits
    this.#timers = timers
    this.#unsent = unsent
    this.#tokenStreams = tokenStreams
  }

  get size(): number {
    return this.#all.size + this.#others.size
  }

  /** How many slow readers were cut so far. */
  get cut(): number {
    return this.#unsent.cuts
  }

  /** Throws where there is no room for one more: before anything was written. */
  checkRoom(): void {
    if (this.#closed) throw new Refusal('draining')
    if (this.size >= this.#limits.streams) throw new Refusal('too-many-streams')
  }

  /** Counts one that watches everything, or a resource. Throws where that is watched by too many; returns how to leave. */
  watch(scope: Scope): (() => void) | undefined {
    if (scope.of !== 'all' && scope.of !== 'resource') return undefined
    const what = scope.of === 'all' ? '' : JSON.stringify([scope.namespace, scope.resource])
    const count = this.#watchers.get(what) ?? 0
    if (count >= this.#limits.watchers) throw new Refusal('too-many-streams')
    this.#watchers.set(what, count + 1)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      const left = this.#watchers.get(what)! - 1
      if (left > 0) this.#watchers.set(what, left)
      else this.#watchers.delete(what)
    }
  }

  /** Counts one of another kind among them. Returns how to leave. */
  enter(other: OtherStream, asker: Asker): () => void {
    this.#others.add(other)
    const leave = this.#tokenStreams.enter(asker, (why) => other.revoke(why))
    return () => {
      this.#others.delete(other)
      leave()
    }
  }

  add(response: ServerResponse, { heartbeat, lastWords, asker }: StreamOptions): Stream {
    const stream = new Stream(response)
    const held = new Held({ cut: () => stream.cut(), write: () => this.#write(stream, held) })
    stream.onTaken = () => this.#unsent.report(held, stream.held)
    this.#all.set(stream, held)
    if (lastWords !== undefined) this.#lastWords.set(stream, lastWords)
    if (heartbeat) {
      this.#beating.add(stream)
      this.#stopHeartbeat ??= this.#timers.after(HEARTBEAT_MS, () => this.#beat())
    }
    // Whoever comes back after the cut is told why.
    const leave = this.#tokenStreams.enter(asker, () => stream.cut())
    stream.onClose(() => {
      leave()
      this.#unsent.report(held, 0)
      this.#all.delete(stream)
      this.#lastWords.delete(stream)
      this.#beating.delete(stream)
      this.#ready.delete(stream)
    })
    return stream
  }

  send(stream: Stream, text: string): void {
    const held = this.#all.get(stream)
    if (!held || stream.isClosed) return
    stream.gather(text, this.#bytesOf(text))
    this.#ready.add(stream)
    this.#unsent.report(held, stream.held)
    if (stream.pending > this.#limits.streamBytes) this.#write(stream, held)
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  /** So many bytes more, or less, wait to be told on it. */
  wait(stream: Stream, change: number): void {
    const held = this.#all.get(stream)
    if (!held) return
    stream.waiting += change
    this.#unsent.report(held, stream.held)
  }

  /** From now on no stream is opened; those that are open go elsewhere, but for those that cannot be told to. */
  moveAll(): void {
    this.#closed = true
    for (const [stream, words] of this.#lastWords) stream.end(words)
    for (const other of this.#others) other.move()
  }

  /** Closes those that were told to move and have not. */
  closeMoved(): void {
    for (const other of this.#others) other.leave()
  }

  /** How many cannot be told to move. */
  get unmoved(): number {
    return this.#all.size - this.#lastWords.size
  }

  close(): void {
    this.#closed = true
    this.#stopHeartbeat?.()
    this.#tokenStreams.close()
    for (const stream of [...this.#all.keys(), ...this.#others]) stream.cut()
  }

  #flush(): void {
    const endMs = processMs() + FLUSH_MS
    for (const stream of this.#ready) {
      this.#write(stream, this.#all.get(stream)!)
      if (processMs() >= endMs) break
    }
    this.#flushing = this.#ready.size > 0
    if (this.#flushing) setImmediate(() => this.#flush())
  }

  #write(stream: Stream, held: Held): void {
    this.#ready.delete(stream)
    const { unread, pending } = stream
    if (pending === 0) return
    // A burst is no sign of a slow reader; one that has not taken what came before it is.
    if (unread > 0 && unread + pending > this.#limits.streamBytes) this.#unsent.cut(held)
    else {
      stream.flush(this.#encode)
      this.#unsent.report(held, stream.held)
    }
  }

  /** The same text goes to many: its bytes are made, and kept, once. */
  readonly #encode = (text: string): Buffer => {
    if (text !== this.#encoded.text) this.#encoded = { text, bytes: Buffer.from(text) }
    return this.#encoded.bytes
  }

  #bytesOf(text: string): number {
    if (text !== this.#measured.text) this.#measured = { text, bytes: Buffer.byteLength(text) }
    return this.#measured.bytes
  }

  #beat(): void {
    for (const stream of this.#beating) this.send(stream, SSE_HEARTBEAT)
    this.#stopHeartbeat = this.#beating.size > 0 ? this.#timers.after(HEARTBEAT_MS, () => this.#beat()) : undefined
  }
}
