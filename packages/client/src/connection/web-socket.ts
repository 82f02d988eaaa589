import type { IncomingMessage } from 'node:http'
import { type ErrorBody, errors, streamRoute } from '@baton-lock/protocol'
import WebSocket from 'ws'
import type { ConnectOptions } from '../api.ts'
import { UnavailableError } from '../errors.ts'

/** Carries frames: a WebSocket, or what the simulator has in its place. They arrive in order, each at most once. */
export interface Wire {
  /** `onSent`: called when the text has left this process. */
  send(text: string, onSent: () => void): void
  /** Bytes that have not left this process yet. */
  readonly unsent: number
  close(): void
}

/** Why there is no wire, or none any more. */
export interface WireEnd {
  readonly error: unknown
  /** Baton refused this client. */
  readonly refusal?: ErrorBody | undefined
}

/** Nothing is called after `onEnd`. */
export interface WireHandlers {
  onText(text: string): void
  /** A sign of life without content. */
  onBeat(): void
  onEnd(end: WireEnd): void
}

/** Opens a wire to a server. What is sent before it is open is sent when it opens. */
export type Dial = (base: URL, handlers: WireHandlers) => Wire

interface WebSocketOptions {
  readonly token?: string | undefined
  readonly tls?: ConnectOptions['tls']
}

const HANDSHAKE_MS = 10_000
/** A server that is stopped does not answer a close, and a process that has closed its client would wait for it. */
const CLOSE = { closeTimeout: 1_000 }
const FRAME_MAX_BYTES = 64 * 1024 * 1024
/** Of an answer that is not a WebSocket. */
const ANSWER_MAX_BYTES = 64 * 1024
/** What Baton answers to a request from which a proxy has removed the upgrade. */
const WITHOUT_UPGRADE: ReadonlySet<string> = new Set(['not-found', 'bad-request'])

/** Dials WebSockets. They do not keep the process alive. */
export function webSocketDial({ token, tls }: WebSocketOptions): Dial {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (base, handlers) => {
    const url = new URL(base.pathname.replace(/\/$/, '') + streamRoute.path, base)
    url.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:'
    const webSocket = new WebSocket(url, {
      ...tls,
      ...CLOSE,
      headers,
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: FRAME_MAX_BYTES,
      skipUTF8Validation: true,
    })
    return wireOf(webSocket, handlers)
  }
}

function wireOf(webSocket: WebSocket, handlers: WireHandlers): Wire {
  let isOver = false
  let early: [text: string, onSent: () => void][] | undefined = []
  const end = (why: WireEnd) => {
    if (isOver) return
    isOver = true
    webSocket.terminate()
    handlers.onEnd(why)
  }
  webSocket.on('upgrade', ({ socket }: IncomingMessage) => socket.unref())
  webSocket.on('open', () => {
    const unsent = early ?? []
    early = undefined
    for (const [text, onSent] of unsent) webSocket.send(text, onSent)
  })
  webSocket.on('message', (data) => isOver || handlers.onText(String(data)))
  webSocket.on('ping', () => isOver || handlers.onBeat())
  webSocket.on('unexpected-response', (_request, response: IncomingMessage) => {
    endOf(response).then(end, (error) => end({ error }))
  })
  webSocket.on('error', (error) => end({ error }))
  webSocket.on('close', (_code, reason) =>
    end({ error: new UnavailableError(String(reason) || 'the server closed it') }),
  )
  return {
    send(text, onSent) {
      if (early) early.push([text, onSent])
      else if (!isOver) webSocket.send(text, onSent)
    },
    get unsent() {
      return early ? 0 : webSocket.bufferedAmount
    },
    close() {
      isOver = true
      // Before the connection is open there is no close handshake to wait for.
      if (webSocket.readyState === WebSocket.CONNECTING) webSocket.terminate()
      else webSocket.close(1000)
    },
  }
}

/** The answer was not a WebSocket: Baton refuses, a proxy is in between, or this is no Baton server. */
async function endOf(response: IncomingMessage): Promise<WireEnd> {
  let text = ''
  for await (const chunk of response) if (text.length < ANSWER_MAX_BYTES) text += String(chunk)
  const refusal = refusalIn(text)
  if (!refusal || WITHOUT_UPGRADE.has(refusal.code)) return { error: noWebSocket(response.statusCode) }
  // Refuses anybody at present, not this client: another server may answer.
  const isUnavailable = refusal.code === 'too-many-streams' || errors[refusal.code].status >= 500
  const error = new UnavailableError(refusal.message)
  return isUnavailable ? { error } : { error, refusal }
}

function noWebSocket(status: number | undefined): UnavailableError {
  return new UnavailableError(
    `it answered ${status} instead of opening a WebSocket at ${streamRoute.path}: ` +
      'check that this is the URL of a Baton server, and let a proxy in between pass on the headers Upgrade and Connection',
  )
}

function refusalIn(text: string): ErrorBody | undefined {
  try {
    const answer = JSON.parse(text) as ErrorBody | null
    return answer?.status === 'refused' && Object.hasOwn(errors, answer.code) ? answer : undefined
  } catch {
    return undefined
  }
}
