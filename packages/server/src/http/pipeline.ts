import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody } from '@baton-lock/protocol'
import { Held, type Unsent } from '../streams/unsent.ts'
import { type Carrier, Exchange, type ExchangeOptions } from './exchange.ts'
import { connectionEvent } from './http-server.ts'

/** About what is kept for a request that waits, besides its bytes. */
const WAITING_BYTES = 4 * 1024
/** Node parses everything that it is given, whoever waits: so it is given only this much at a time. */
const READ_BYTES = 4 * 1024

interface PipelinesOptions extends ExchangeOptions {
  readonly unsent: Unsent
  /** How many requests of a connection may wait. */
  readonly requestsAhead: number
  /** Answers a request, now or later. It reads the body of the request, or discards it, at once. */
  readonly serve: (exchange: Exchange) => void
  /** The server is about to stop: answers are the last ones of their connections. */
  readonly isDraining: () => boolean
}

/**
 * Requests that clients send before they have the answers to earlier ones. Node would read on, and keep the answer to each until its turn.
 * Here one request of a connection is answered at a time, and while any waits its socket is not read.
 */
export class Pipelines {
  readonly #options: PipelinesOptions
  readonly #bySocket = new WeakMap<Socket, Pipeline>()

  constructor(options: PipelinesOptions) {
    this.#options = options
  }

  /** To be called before anybody else listens for upgrades. */
  attach(server: Server): void {
    const take = (request: IncomingMessage, response: ServerResponse) =>
      this.#bySocket.get(request.socket)!.take({ request, response })
    server.on('request', take)
    // Node's own answer to this would not wait for its turn.
    server.on('checkExpectation', take)
    server.on(connectionEvent(server), (socket: Socket) => this.#begin(socket))
    server.on('upgrade', ({ socket }) => this.#bySocket.get(socket)?.letGo())
  }

  /** A socket whose upgrade was declined comes again. */
  #begin(socket: Socket): void {
    const pipeline = this.#bySocket.get(socket) ?? new Pipeline(socket, this.#options)
    this.#bySocket.set(socket, pipeline)
    pipeline.begin()
  }
}

interface Taken {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The requests of one connection. */
class Pipeline implements Carrier {
  readonly #socket: Socket
  readonly #options: PipelinesOptions
  readonly #held: Held
  readonly #waiting: Taken[] = []
  #isBusy = false
  /** More requests came than may wait. The last one in line is refused in its turn; all that come after it are ignored. */
  #isFull = false
  #ignored = 0
  /** No other request is answered. */
  #isStopped = false
  /** It became a WebSocket. */
  #isLetGo = false

  constructor(socket: Socket, options: PipelinesOptions) {
    this.#socket = socket
    this.#options = options
    this.#held = new Held({ cut: () => void socket.destroy() })
    socket.once('close', () => {
      this.#waiting.length = 0
      options.unsent.report(this.#held, 0)
    })
  }

  begin(): void {
    this.#isLetGo = false
    // While somebody listens for `readable`, Node's own parser is given what `read` returns, and nothing else.
    this.#socket.on('readable', this.#read)
  }

  letGo(): void {
    this.#isLetGo = true
    this.#socket.off('readable', this.#read)
  }

  take(taken: Taken): void {
    if (this.#isFull || this.#isStopped) this.#ignored++
    else if (this.#isBusy) {
      this.#isFull = this.#waiting.length === this.#options.requestsAhead
      this.#waiting.push(taken)
    } else {
      this.#options.serve(this.#start(taken))
      return
    }
    this.report()
  }

  get isLast(): boolean {
    return this.#options.isDraining() && this.#waiting.length === 0
  }

  stop(): void {
    this.#isStopped = true
  }

  report(): void {
    const socket = this.#socket
    const waiting = this.#waiting.length + this.#ignored
    this.#options.unsent.report(this.#held, socket.destroyed ? 0 : socket.writableLength + waiting * WAITING_BYTES)
  }

  /** Also tells Node, by a `read` that returns nothing, that the client has ended its side. */
  readonly #read = (): void => {
    const socket = this.#socket
    if (!this.#mayRead) return
    do socket.read(socket.readableLength > READ_BYTES ? READ_BYTES : undefined)
    while (socket.readableLength > 0 && this.#mayRead)
  }

  get #mayRead(): boolean {
    return this.#waiting.length === 0 && !this.#isFull && !this.#isStopped && !this.#isLetGo
  }

  #start(taken: Taken): Exchange {
    this.#isBusy = true
    taken.response.on('close', this.#next)
    return new Exchange(taken, this, this.#options)
  }

  /** The answer was sent, or the client has left. */
  readonly #next = (): void => {
    this.#isBusy = false
    const next = this.#socket.destroyed || this.#isStopped ? undefined : this.#waiting.shift()
    if (next) {
      const exchange = this.#start(next)
      if (this.#isFull && this.#waiting.length === 0) this.#refuse(exchange)
      else this.#options.serve(exchange)
      this.#read()
    } else if (this.isLast) this.#socket.destroySoon()
    this.report()
  }

  #refuse(exchange: Exchange): void {
    const { requestsAhead } = this.#options
    const message = `More than ${requestsAhead} requests were sent ahead of their answers; wait for some of them.`
    exchange.sendAndClose({ status: 400, json: errorBody('bad-request', message) })
  }
}
