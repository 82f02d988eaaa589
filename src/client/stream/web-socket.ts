import type { IncomingMessage } from 'node:http'
import WebSocket from 'ws'
import { type ErrorBody, errors, streamRoute } from '../../protocol/index.ts'
import type { ConnectOptions } from '../api.ts'
import { UnavailableError } from '../errors.ts'
import type { Dial, Wire, WireEnd, WireHandlers } from './wire.ts'

interface WebSocketOptions {
  readonly token?: string | undefined
  readonly tls?: ConnectOptions['tls']
}

const HANDSHAKE_MS = 10_000
const FRAME_MAX_BYTES = 64 * 1024 * 1024
/** Refusals of the stream, and of nothing that would be asked on it: a server of before it, or one that has no room. */
const NO_STREAM: ReadonlySet<string> = new Set(['not-found', 'bad-request', 'too-many-streams'])
/** Of an answer that is no WebSocket. */
const ANSWER_MAX_BYTES = 64 * 1024

/** Dials WebSockets. They do not keep the process alive. */
export function webSocketDial({ token, tls }: WebSocketOptions): Dial {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return (base, handlers) => {
    const url = new URL(base.pathname.replace(/\/$/, '') + streamRoute.path, base)
    url.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:'
    const webSocket = new WebSocket(url, {
      ...tls,
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
  let waiting: [text: string, taken: () => void][] | undefined = []
  const end = (why: WireEnd) => {
    if (isOver) return
    isOver = true
    webSocket.terminate()
    handlers.onEnd(why)
  }
  webSocket.on('upgrade', ({ socket }: IncomingMessage) => socket.unref())
  webSocket.on('open', () => {
    const early = waiting ?? []
    waiting = undefined
    for (const [text, taken] of early) webSocket.send(text, taken)
  })
  webSocket.on('message', (data) => isOver || handlers.onText(String(data)))
  webSocket.on('ping', () => isOver || handlers.onBeat())
  webSocket.on('unexpected-response', (_request, response: IncomingMessage) => void answered(response).then(end, end))
  webSocket.on('error', (error) => end({ error }))
  webSocket.on('close', (_code, reason) =>
    end({ error: new UnavailableError(String(reason) || 'the server closed it') }),
  )
  return {
    send(text, taken) {
      if (waiting) waiting.push([text, taken])
      else if (!isOver) webSocket.send(text, taken)
    },
    get unsent() {
      return waiting ? 0 : webSocket.bufferedAmount
    },
    close() {
      isOver = true
      // Before it stands, there is nothing to be said goodbye to.
      if (webSocket.readyState === WebSocket.CONNECTING) webSocket.terminate()
      else webSocket.close(1000)
    },
  }
}

/** Somebody answered with something else than a WebSocket: Baton, who says why, or whoever stands in between. */
async function answered(response: IncomingMessage): Promise<WireEnd> {
  const { statusCode } = response
  let text = ''
  for await (const chunk of response) if (text.length < ANSWER_MAX_BYTES) text += String(chunk)
  const error = new UnavailableError(`it answered ${statusCode}`)
  const refusal = refusalIn(text)
  if (!refusal || NO_STREAM.has(refusal.code)) return { error, isForbidden: true }
  if (errors[refusal.code].status >= 500) return { error: new UnavailableError(refusal.message) }
  return { error, refusal }
}

function refusalIn(text: string): ErrorBody | undefined {
  try {
    const answer = JSON.parse(text) as ErrorBody | null
    return answer?.status === 'refused' && Object.hasOwn(errors, answer.code) ? answer : undefined
  } catch {
    return undefined
  }
}
