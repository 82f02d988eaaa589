import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Timers } from '../service/index.ts'
import type { Streams } from './streams.ts'

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

/** So long a connection without a request is kept: one may be on its way. */
const IDLE_MS = 100
/** So long a stream that was told to move is waited for; one that has not gone by then is closed. */
const MOVE_MS = 3_000

/** How a server goes: nobody comes in any more, who is in gets its answers, streams go elsewhere. */
export class Draining {
  readonly #options: DrainingOptions
  readonly #sockets = new Set<Socket>()
  #onLeft = () => {}
  #has = false

  constructor(options: DrainingOptions) {
    this.#options = options
    options.server.on('connection', (socket: Socket) => {
      if (this.#sockets.has(socket)) return
      this.#sockets.add(socket)
      socket.once('close', () => {
        this.#sockets.delete(socket)
        this.#onLeft()
      })
    })
  }

  /** From now on answers are the last ones of their connections, and the server is not ready. */
  get hasBegun(): boolean {
    return this.#has
  }

  /** Resolves when everybody has gone, or after so long: then those who are left are cut. */
  async drain(limitMs: number): Promise<Drained> {
    const { server, streams, timers } = this.#options
    this.#has = true
    // Not by its own `close`, which cuts connections whose next request may be on its way.
    NetServer.prototype.close.call(server)
    streams.moveAll()
    const calledOff = [
      timers.after(Math.min(IDLE_MS, limitMs), () => this.#closeIdle()),
      timers.after(Math.min(MOVE_MS, limitMs), () => streams.closeMoved()),
    ]
    const isEmpty = await this.#untilEmpty(limitMs)
    for (const callOff of calledOff) callOff()
    const cut = isEmpty ? 0 : this.#sockets.size - streams.unmoved
    streams.close()
    server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    return { cut }
  }

  #closeIdle(): void {
    this.#options.server.closeIdleConnections()
    // To Node, one that has never said anything is still about to.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
  }

  /** Those who cannot be told to move stay until nobody else is left: the shorter is the time without a server. */
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
