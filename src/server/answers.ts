import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody } from '../protocol/index.ts'
import { closeUnread } from './linger.ts'
import { REQUEST_ID_HEADER, type RequestNames } from './request-names.ts'
import { Held, type Unsent } from './unsent.ts'

/** About what is kept for a request that waits, beside its bytes. */
const WAITING_BYTES = 4 * 1024

interface AnswersOptions {
  readonly unsent: Unsent
  /** How many requests of a connection may wait. */
  readonly ahead: number
  readonly serve: RequestListener
  readonly names: RequestNames
  /** Whether answers are the last ones of their connections. */
  readonly isLast: () => boolean
}

/** The response of a server; says by itself what of it is unsent. */
export class Answer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  turns: Turns | undefined = undefined

  override writeHead(...args: unknown[]): this {
    if (this.turns?.isLast) this.shouldKeepAlive = false
    return super.writeHead(...(args as Parameters<ServerResponse['writeHead']>))
  }

  override end(...args: unknown[]): this
  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    super.end(chunk, encoding as BufferEncoding, callback as () => void)
    this.turns?.report()
    return this
  }
}

/**
 * Requests that a client sends before it has the answers to those before them. Node reads all that has arrived, up to some
 * thousands at once, and keeps each answer until its turn; so here only the first is answered, and the next when that was sent.
 */
export class Answers {
  readonly #options: AnswersOptions
  readonly #bySocket = new WeakMap<Socket, Turns>()

  constructor(options: AnswersOptions) {
    this.#options = options
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    let turns = this.#bySocket.get(socket)
    if (!turns) {
      turns = new Turns(socket, this.#options)
      this.#bySocket.set(socket, turns)
    }
    turns.take(request, response as Answer)
  }
}

interface Waiting {
  readonly request: IncomingMessage
  readonly response: Answer
}

/** The requests of one connection, one at a time. */
class Turns {
  readonly #socket: Socket
  readonly #options: AnswersOptions
  readonly #held: Held
  readonly #waiting: Waiting[] = []
  #isBusy = false
  /** Requests beyond those that may wait: the first is refused in its turn, and is the last that is answered. */
  #beyond = 0

  constructor(socket: Socket, options: AnswersOptions) {
    this.#socket = socket
    this.#options = options
    this.#held = new Held({ cut: () => void socket.destroy() })
    socket.once('close', () => {
      this.#waiting.length = 0
      options.unsent.report(this.#held, 0)
    })
  }

  take(request: IncomingMessage, response: Answer): void {
    response.turns = this
    if (!this.#isBusy) {
      this.#serve(request, response)
      return
    }
    if (this.#beyond > 0 || this.#waiting.length === this.#options.ahead) this.#beyond++
    if (this.#beyond < 2) this.#waiting.push({ request, response })
    if (this.#beyond === 1) stopParsing(this.#socket)
    this.#socket.pause()
    this.report()
  }

  /** Whether the answer that is begun now is the last one. */
  get isLast(): boolean {
    return this.#options.isLast() && this.#waiting.length === 0
  }

  /** What this connection holds. */
  report(): void {
    const socket = this.#socket
    const waiting = this.#waiting.length + this.#beyond
    this.#options.unsent.report(this.#held, socket.destroyed ? 0 : socket.writableLength + waiting * WAITING_BYTES)
  }

  /** The answer that was under way is sent. */
  next(): void {
    this.#isBusy = false
    const next = this.#waiting.shift()
    if (next && !this.#socket.destroyed) {
      if (this.#beyond > 0 && this.#waiting.length === 0) this.#refuse(next)
      else this.#serve(next.request, next.response)
      if (this.#waiting.length === 0) this.#socket.resume()
    } else if (this.isLast) this.#socket.destroySoon()
    this.report()
  }

  #serve(request: IncomingMessage, response: Answer): void {
    this.#isBusy = true
    response.on('close', sent)
    this.#options.serve(request, response)
  }

  #refuse({ request, response }: Waiting): void {
    this.#isBusy = true
    const message = `More than ${this.#options.ahead} requests were sent ahead of their answers; wait for some of them.`
    const body = JSON.stringify(errorBody('bad-request', message))
    closeUnread(request)
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
      [REQUEST_ID_HEADER]: this.#options.names.of(request).requestId,
    }
    response.writeHead(400, { ...headers, connection: 'close' }).end(body)
  }
}

/**
 * What Node has read is parsed to its end, some thousand requests at once, whatever becomes of the socket. A request that is
 * taken for an upgrade ends that, as all that follows one is no HTTP; and nothing of it is an upgrade where nobody says so
 * (`upgrade` of the request stays false). Of a Node that has no such parser all requests come here, as they do without this.
 */
function stopParsing(socket: Socket & { readonly parser?: { onIncoming?: unknown } | null }): void {
  if (typeof socket.parser?.onIncoming === 'function') socket.parser.onIncoming = () => TAKEN_FOR_AN_UPGRADE
}

/** What the parser's callback returns for one. */
const TAKEN_FOR_AN_UPGRADE = 2

function sent(this: Answer): void {
  this.turns?.next()
}
