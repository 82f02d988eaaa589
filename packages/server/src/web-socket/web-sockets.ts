import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { errors, FRAME_LIMITS, STORE_HEADER, STREAM_PROTOCOL, streamRoute } from '@baton-lock/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Asker, Guard } from '../auth/guard.ts'
import { networkOf } from '../auth/network.ts'
import { accessTo } from '../auth/roles.ts'
import { Slowdown } from '../auth/slowdown.ts'
import type { WrongTokens } from '../auth/wrong-tokens.ts'
import { pathOf } from '../http/exchange.ts'
import type { ServerLimits } from '../limits.ts'
import type { RequestLog } from '../logging/request-log.ts'
import { REQUEST_ID_HEADER, type RequestName } from '../logging/request-names.ts'
import type { Streams } from '../streams/streams.ts'
import { declineUpgrade } from './declined-upgrade.ts'
import { HEARTBEAT_MS, Peer, type PeerOptions } from './peer.ts'

interface WebSocketsOptions
  extends Omit<PeerOptions, 'asker' | 'id' | 'guard' | 'streams' | 'requestLog' | 'limits' | 'onBroken'> {
  readonly server: Server
  readonly guard: Guard
  readonly streams: Streams
  readonly requestLog: RequestLog
  readonly limits: ServerLimits
  readonly wrongTokens: WrongTokens
}

/** Whose streams are counted together: those of a token, or without tokens those of a network. */
type Source = object | string

/** An upgrade that is under way. */
interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly name: RequestName
}

/** GET /v1/stream: who may have a WebSocket, and the heartbeat of all. */
export class WebSockets {
  readonly #options: WebSocketsOptions
  readonly #server: WebSocketServer
  readonly #access = accessTo(streamRoute)
  /** Those who break the rules again and again. */
  readonly #broken: Slowdown<Source>
  readonly #peers = new Set<Peer>()
  readonly #names = new WeakMap<IncomingMessage, RequestName>()
  #stopBeat: (() => void) | undefined

  constructor(options: WebSocketsOptions) {
    this.#options = options
    this.#broken = new Slowdown(options.timers)
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      // One of the protocols that a browser offers may be a token, which is not repeated.
      handleProtocols: (offered) => offered.has(STREAM_PROTOCOL) && STREAM_PROTOCOL,
      perMessageDeflate: false,
      maxPayload: FRAME_LIMITS.bytes + options.limits.bodyBytes,
    })
    this.#server.on('headers', (headers, request) => headers.push(idHeader(this.#names.get(request)!)))
    options.server.on('upgrade', (request, socket, head) => this.#take({ request, socket, head }))
  }

  close(): void {
    this.#stopBeat?.()
  }

  #take({ request, socket, head }: Omit<Upgrade, 'name'>): void {
    const isOurs = request.headers.upgrade?.toLowerCase() === 'websocket' && pathOf(request) === streamRoute.path
    if (!isOurs) {
      declineUpgrade(this.#options.server, { request, socket, head })
      return
    }
    socket.on('error', ignore)
    const name = this.#options.requestLog.names.of(request.headers)
    void this.#admit({ request, socket, head, name })
  }

  async #admit(upgrade: Upgrade): Promise<void> {
    const { guard, streams, wrongTokens } = this.#options
    const { request, socket } = upgrade
    let asker: Asker
    try {
      asker = guard.identify(request, 'upgrade')
      guard.enter(asker, this.#access)
      streams.checkRoom()
    } catch (error) {
      await wrongTokens.slow(error, socket, () => this.#logOf(upgrade))
      this.#refuse(upgrade, error)
      return
    }
    const source = asker.token ?? networkOf(request.socket.remoteAddress ?? '')
    await this.#broken.wait(source, socket)
    if (socket.destroyed) return
    try {
      streams.checkRoom()
      this.#names.set(request, upgrade.name)
      const opened = (webSocket: WebSocket) => this.#open(webSocket, { upgrade, asker, source })
      this.#server.handleUpgrade(request, socket, upgrade.head, opened)
    } catch (error) {
      this.#refuse(upgrade, error)
    }
  }

  #open(webSocket: WebSocket, { upgrade, asker, source }: Opened): void {
    const { requestLog, streams } = this.#options
    const id = requestLog.names.next()
    const { isDebug } = requestLog
    if (isDebug) this.#logOf(upgrade).debug('stream opened', { stream: id, who: asker.token?.name ?? 'anybody' })
    const onBroken = () => this.#broken.note(source)
    const peer = new Peer(webSocket, { ...this.#options, asker, id, onBroken })
    this.#peers.add(peer)
    this.#beatLater()
    const leave = streams.enter(peer, asker)
    webSocket.on('close', () => {
      this.#peers.delete(peer)
      leave()
      if (isDebug) requestLog.named({ stream: id }).debug('stream closed')
    })
  }

  #beatLater(): void {
    this.#stopBeat ??= this.#options.timers.after(HEARTBEAT_MS, () => {
      this.#stopBeat = undefined
      for (const peer of this.#peers) peer.beat()
      if (this.#peers.size > 0) this.#beatLater()
    })
  }

  #logOf({ name }: Upgrade) {
    return this.#options.requestLog.named({ ...name })
  }

  #refuse(upgrade: Upgrade, error: unknown): void {
    const { service, requestLog } = this.#options
    const body = requestLog.failed(error, () => this.#logOf(upgrade))
    const { status } = errors[body.code]
    const text = JSON.stringify(body)
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(text)}`,
      `${STORE_HEADER}: ${service.storeId}`,
      idHeader(upgrade.name),
      'Connection: close',
      ...(body.code === 'unauthorised' ? ['WWW-Authenticate: Bearer'] : []),
    ]
    upgrade.socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  }
}

interface Opened {
  readonly upgrade: Upgrade
  readonly asker: Asker
  readonly source: Source
}

function idHeader({ requestId }: RequestName): string {
  return `${REQUEST_ID_HEADER}: ${requestId}`
}

/** The client may leave while it is answered. */
function ignore(): void {}
