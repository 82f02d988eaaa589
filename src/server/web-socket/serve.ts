import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ErrorBody, errors, FRAME_LIMITS, STORE_HEADER, streamRoute } from '../../protocol/index.ts'
import type { Asked, Log, Service, Timers } from '../../service/index.ts'
import { check, isRequestType } from '../check.ts'
import { DEPTH_MAX, isTooDeep } from '../depth.ts'
import type { Asker, Guard } from '../guard.ts'
import type { ServerLimits } from '../limits.ts'
import { bodyOf, Refusal } from '../refusal.ts'
import type { Streams } from '../streams.ts'
import { Held, type Unsent } from '../unsent.ts'
import type { WrongTokens } from '../wrong-tokens.ts'
import { Connection, TOO_SLOW, type Wire } from './connection.ts'
import { withoutUpgrade } from './without-upgrade.ts'

interface WebSocketOptions {
  readonly service: Service
  readonly guard: Guard
  readonly wrongTokens: WrongTokens
  readonly streams: Streams
  readonly limits: ServerLimits
  readonly timers: Timers
  readonly log: Log
  readonly unsent: Unsent
}

const HEARTBEAT_MS = 15_000
/** A client that has not been heard of for so many beats is gone, whatever TCP thinks. */
const BEATS_MAX = 3

/** What the codes of WebSocket are for each way to end one. */
const CODES = { broken: 1008, slow: 1013, failed: 1011 } as const

/** GET /v1/stream. */
export function serveWebSocket(app: FastifyInstance, options: WebSocketOptions): void {
  const { service, guard, streams, limits } = options
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: FRAME_LIMITS.bytes + limits.bodyBytes,
  })
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
    let asker: Asker
    try {
      asker = guard.identify(request.headers)
      streams.checkRoom()
    } catch (error) {
      const refused = () => refuse(socket, bodyOf(error, options.log), service.storeId)
      return void options.wrongTokens.slow(error, socket).then(refused)
    }
    server.handleUpgrade(request, socket, head, (webSocket) => {
      const client = new Client(webSocket, asker, options)
      beating.add(client)
      stopBeat ??= options.timers.after(HEARTBEAT_MS, beat)
      const leave = streams.enter({ cut: () => webSocket.terminate() })
      webSocket.on('close', () => {
        beating.delete(client)
        leave()
      })
    })
  })
  app.addHook('preClose', async () => {
    stopBeat?.()
  })
}

/** A WebSocket, and the connection over it. */
class Client {
  readonly #webSocket: WebSocket
  #silentBeats = 0

  constructor(webSocket: WebSocket, asker: Asker, { service, guard, limits, log, unsent }: WebSocketOptions) {
    this.#webSocket = webSocket
    const end = (code: number, why: string) => {
      webSocket.close(code, why.slice(0, 120))
      if (code !== CODES.broken) webSocket.terminate()
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
      check: (input) => checkedFor(guard, asker, input, log),
      checkListen: ({ scope }) =>
        guard.checkScope(asker, { scope, namespace: scope.of === 'all' ? scope.namespace : undefined }),
      failure: (error) => bodyOf(error, log),
      unreadBytes: limits.streamBytes,
      onWaiting: (change) => {
        waiting += change
        report()
      },
      replyBytes: limits.replyBytes,
    })
    webSocket.on('message', (data, isBinary) => {
      this.#silentBeats = 0
      if (isBinary) wire.end('broken', 'frames are text')
      else connection.receive(String(data))
    })
    webSocket.on('pong', () => {
      this.#silentBeats = 0
    })
    // Each was answered by a pong, which may be left unread as anything else.
    webSocket.on('ping', taken)
    webSocket.on('close', () => {
      connection.close()
      unsent.report(held, 0)
    })
    // It is followed by 'close', and there is nobody left to tell.
    webSocket.on('error', () => {})
  }

  beat(): void {
    if (++this.#silentBeats > BEATS_MAX) this.#webSocket.terminate()
    else this.#webSocket.ping()
  }
}

function checkedFor(guard: Guard, asker: Asker, input: unknown, log: Log): Asked | ErrorBody {
  try {
    if (isTooDeep(input)) throw new Refusal('bad-request', `The JSON is nested deeper than ${DEPTH_MAX} levels.`)
    const type = (input as { type?: unknown } | null)?.type
    if (!isRequestType(type)) throw new Refusal('bad-request', 'type: must be that of a request.')
    const request = check(type, input)
    return { request, facts: guard.check(asker, request) }
  } catch (error) {
    return bodyOf(error, log)
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function refuse(socket: Duplex, body: ErrorBody, storeId: string): void {
  const { status } = errors[body.code]
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `${STORE_HEADER}: ${storeId}`,
    'Connection: close',
    ...(body.code === 'unauthorised' ? ['WWW-Authenticate: Bearer'] : []),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}
