import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Timers } from '@baton-lock/service'
import type { Streams } from '../streams/streams.ts'

/** What was not done in time. */
export interface Drained {
  /** Connections that were cut. */
  readonly cut: number
}

interface DrainingOptions {
  readonly server: Server
  readonly streams: Streams
  readonly timers: Timers
}

/** How long a draining server still listens, and keeps connections without a request: one may be on its way. */
const GRACE_MS = 100
/** How long a stream that was told to move may take; then it is closed. */
const MOVE_MS = 3_000

/** How a server goes: requests under way are answered, streams go elsewhere, and then nobody is let in any more. */
export class Draining {
  readonly #options: DrainingOptions
  readonly #sockets = new Set<Socket>()
  readonly #closed: Promise<void>
  #onLeft = () => {}
  #hasBegun = false
  #hasListened = false

  constructor(options: DrainingOptions) {
    this.#options = options
    const { server } = options
    server.once('listening', () => {
      this.#hasListened = true
    })
    this.#closed = new Promise((resolve) => server.once('close', resolve))
    server.on('connection', (socket: Socket) => {
      if (this.#sockets.has(socket)) return
      this.#sockets.add(socket)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#onLeft()
      })
    })
  }

  /** Answers are the last ones of their connections, and the server is not ready. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Resolves when everybody has left, or after `limitMs`, when those who are left are cut. */
  async drain(limitMs: number): Promise<Drained> {
    const { server, streams, timers } = this.#options
    this.#hasBegun = true
    streams.moveAll()
    const calledOff = [
      timers.after(Math.min(GRACE_MS, limitMs), () => this.#stopListening()),
      timers.after(Math.min(MOVE_MS, limitMs), () => streams.closeMoved()),
    ]
    const isEmpty = await this.#untilEmpty(limitMs)
    for (const callOff of calledOff) callOff()
    const cut = isEmpty ? 0 : this.#sockets.size - streams.unmoved
    this.#stopListening()
    streams.close()
    server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    return { cut }
  }

  /** Stops listening, and resolves when the answers under way were sent. */
  async close(): Promise<void> {
    if (!this.#hasListened) return
    this.#stopListening()
    await this.#closed
  }

  /** Closes idle connections too. Node does not count one as idle that has never sent anything. */
  #stopListening(): void {
    const { server } = this.#options
    if (server.listening) server.close()
    else server.closeIdleConnections()
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Streams that cannot be told to move stay until nobody else is left: their clients are without a server for less time. */
  #untilEmpty(limitMs: number): Promise<boolean> {
    const { streams, timers } = this.#options
    return new Promise((resolve) => {
      const callOff = timers.after(limitMs, () => resolve(false))
      this.#onLeft = () => {
        if (this.#sockets.size > streams.unmoved) return
        callOff()
        resolve(true)
      }
      this.#onLeft()
    })
  }
}
