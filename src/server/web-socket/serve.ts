import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import {
  type ErrorBody,
  errors,
  FRAME_LIMITS,
  type Request,
  STORE_HEADER,
  STREAM_PROTOCOL,
  streamRoute,
} from '../../protocol/index.ts'
import type { Service, Timers } from '../../service/index.ts'
import type { Accounts } from '../accounts.ts'
import type { Admission } from '../admission.ts'
import { check, isRequestType } from '../check.ts'
import { DEPTH_MAX, isTooDeep } from '../depth.ts'
import type { FairQueue } from '../fair-queue.ts'
import type { Asker, Guard } from '../guard.ts'
import type { ServerLimits } from '../limits.ts'
import { afterLinger } from '../linger.ts'
import { networkOf } from '../network.ts'
import { Refusal } from '../refusal.ts'
import { type NameOf, onStream, type RequestLog } from '../request-log.ts'
import { REQUEST_ID_HEADER } from '../request-names.ts'
import { accessTo } from '../roles.ts'
import { Slowdown } from '../slowdown.ts'
import type { Streams } from '../streams.ts'
import { Held, type Unsent } from '../unsent.ts'
import type { WrongTokens } from '../wrong-tokens.ts'
import { Connection, TOO_SLOW, type Wire } from './connection.ts'
import { withoutUpgrade } from './without-upgrade.ts'

interface WebSocketOptions {
  readonly service: Service
  readonly guard: Guard
  readonly admission: Admission
  readonly wrongTokens: WrongTokens
  readonly streams: Streams
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly requestLog: RequestLog
  readonly unsent: Unsent
  readonly queue: FairQueue
  readonly accounts: Accounts
}

/** Whose streams are counted together: a token's, or where there are none, those of a network. */
type Source = object | string

const HEARTBEAT_MS = 15_000
/** Pings between two beats. A client needs none: it is sent some. */
const PINGS_MAX = 1_000
/** A client that has not been heard of for so many beats is gone, whatever TCP thinks. */
const BEATS_MAX = 3

/** What the codes of WebSocket are for each way to end one. */
const CODES = { broken: 1008, slow: 1013, failed: 1011 } as const
/** The server goes, and may come back. */
const SERVICE_RESTART = 1012

/** GET /v1/stream. */
export function serveWebSocket(app: FastifyInstance, options: WebSocketOptions): void {
  const { service, guard, streams, limits, requestLog } = options
  const access = accessTo({ method: streamRoute.method, url: streamRoute.path })
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Of what a browser offers one may be a token, which is not repeated.
    handleProtocols: (offered) => offered.has(STREAM_PROTOCOL) && STREAM_PROTOCOL,
    perMessageDeflate: false,
    maxPayload: FRAME_LIMITS.bytes + limits.bodyBytes,
  })
  const idOf = (request: IncomingMessage) => `${REQUEST_ID_HEADER}: ${requestLog.names.of(request).requestId}`
  server.on('headers', (headers, request) => headers.push(idOf(request)))
  const broken = new Slowdown<Source>(options.timers)
  const beating = new Set<Client>()
  let stopBeat: (() => void) | undefined
  const beat = () => {
    for (const client of beating) client.beat()
    stopBeat = beating.size > 0 ? options.timers.after(HEARTBEAT_MS, beat) : undefined
  }
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isOurs = request.headers.upgrade?.toLowerCase() === 'websocket' && pathOf(request) === streamRoute.path
    if (!isOurs) return withoutUpgrade(app.server, { request, socket, head })
    socket.on('error', () => {})
    const logOf = () => requestLog.of(request)
    const refuseBy = (error: unknown) =>
      refuse(socket, requestLog.failed(request, error), [`${STORE_HEADER}: ${service.storeId}`, idOf(request)])
    let asker: Asker
    try {
      asker = guard.identify(request, 'upgrade')
      guard.enter(asker, access)
      streams.checkRoom()
    } catch (error) {
      return void options.wrongTokens.slow(error, socket, logOf).then(() => refuseBy(error))
    }
    const source = asker.token ?? networkOf(request.socket.remoteAddress ?? '')
    const upgraded = (webSocket: WebSocket) => {
      const id = requestLog.names.next()
      if (requestLog.isDebug) logOf().debug('stream opened', { stream: id, who: asker.token?.name ?? 'anybody' })
      const client = new Client(webSocket, asker, { ...options, id, onBroken: () => broken.note(source) })
      beating.add(client)
      stopBeat ??= options.timers.after(HEARTBEAT_MS, beat)
      const cut = () => webSocket.terminate()
      const move = () => client.move()
      const close = () => webSocket.close(SERVICE_RESTART, 'the server is about to stop')
      const leave = streams.enter({ cut, move, leave: close, end: (why) => client.end(why) }, asker)
      webSocket.on('close', () => {
        beating.delete(client)
        leave()
        if (requestLog.isDebug) requestLog.onStream(id).debug('stream closed')
      })
    }
    void broken.wait(source, socket).then(() => {
      if (socket.destroyed) return
      try {
        streams.checkRoom()
        server.handleUpgrade(request, socket, head, upgraded)
      } catch (error) {
        refuseBy(error)
      }
    })
  })
  app.addHook('preClose', async () => {
    stopBeat?.()
  })
}

interface ClientOptions extends WebSocketOptions {
  /** Names it in the log. */
  readonly id: string
  readonly onBroken: () => void
}

/** A WebSocket, and the connection over it. */
class Client {
  readonly #webSocket: WebSocket
  readonly #connection: Connection
  #silentBeats = 0
  #pings = 0
  readonly #end: (why: string) => void

  constructor(webSocket: WebSocket, asker: Asker, options: ClientOptions) {
    const { service, guard, admission, limits, requestLog, id, unsent, queue, timers } = options
    const nameOf: NameOf = (number) => onStream(id, number)
    this.#webSocket = webSocket
    const account = options.accounts.ofStream(asker)
    let isBroken = false
    // Nothing more of it is read: it may go on sending for ever.
    const endSoon = () => {
      if (isBroken) return
      isBroken = true
      options.onBroken()
      connection.break()
      setImmediate(() => webSocket.pause())
      afterLinger(() => webSocket.terminate())
    }
    const end = (code: number, why: string) => {
      webSocket.close(code, why.slice(0, 120))
      if (code === CODES.broken) endSoon()
      else webSocket.terminate()
    }
    this.#end = (why) => {
      webSocket.close(CODES.broken, why.slice(0, 120))
      connection.break()
      afterLinger(() => webSocket.terminate())
    }
    const held = new Held({ cut: () => end(CODES.slow, TOO_SLOW) })
    let waiting = 0
    const report = () => unsent.report(held, waiting + webSocket.bufferedAmount)
    const taken = () => {
      report()
      connection.drained()
    }
    const wire: Wire = {
      send: (text) => {
        webSocket.send(text, taken)
        report()
      },
      get unsent() {
        return webSocket.bufferedAmount
      },
      pause: () => webSocket.pause(),
      resume: () => webSocket.resume(),
      end: (how, why) => {
        if (how === 'slow') unsent.cut(held)
        else end(CODES[how], why)
      },
    }
    const connection = new Connection({
      service,
      wire,
      timers,
      check(input, number) {
        try {
          return admission.admit(asker, checked(input), nameOf, number)
        } catch (error) {
          return requestLog.failedOnStream(id, error, number)
        }
      },
      checkListen: ({ scope }) => {
        const namespace = scope.of === 'all' ? scope.namespace : undefined
        const { actsFor } = guard.checkScope(asker, { scope, namespace })
        return { actsFor, leave: options.streams.watch(scope) }
      },
      failure: (error, number) => requestLog.failedOnStream(id, error, number),
      unreadBytes: limits.streamBytes,
      onWaiting: (change) => {
        waiting += change
        report()
      },
      replyBytes: limits.replyBytes,
      inTurn: (work) => queue.run(account, work),
    })
    this.#connection = connection
    webSocket.on('message', (data, isBinary) => {
      this.#silentBeats = 0
      if (isBinary) wire.end('broken', 'frames are text')
      else connection.receive(String(data))
    })
    webSocket.on('pong', () => {
      this.#silentBeats = 0
    })
    webSocket.on('ping', () => {
      // Each was answered by a pong, which may be left unread as anything else.
      taken()
      if (++this.#pings > PINGS_MAX) wire.end('broken', `more than ${PINGS_MAX} pings in ${HEARTBEAT_MS / 1_000} s`)
    })
    webSocket.on('close', () => {
      connection.close()
      unsent.report(held, 0)
    })
    // What came was no WebSocket any more, or its peer has gone. It was told so, where it is still there.
    webSocket.on('error', endSoon)
  }

  move(): void {
    this.#connection.drain()
  }

  /** Its token is not good any more: nothing of what it has sent counts from here on. */
  end(why: string): void {
    this.#end(why)
  }

  beat(): void {
    this.#pings = 0
    if (++this.#silentBeats > BEATS_MAX) this.#webSocket.terminate()
    else this.#webSocket.ping()
  }
}

function checked(input: unknown): Request {
  if (isTooDeep(input)) throw new Refusal('bad-request', `The JSON is nested deeper than ${DEPTH_MAX} levels.`)
  const type = (input as { type?: unknown } | null)?.type
  if (!isRequestType(type)) throw new Refusal('bad-request', 'type: must be that of a request.')
  return check(type, input)
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function refuse(socket: Duplex, body: ErrorBody, headers: readonly string[]): void {
  const { status } = errors[body.code]
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...headers,
    'Connection: close',
    ...(body.code === 'unauthorised' ? ['WWW-Authenticate: Bearer'] : []),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}
