import type { ClientRequestArgs, IncomingHttpHeaders } from 'node:http'
import type { ServerFrame } from '@baton-lock/protocol'
import { onTestFinished } from 'vitest'
import WebSocket from 'ws'
import type { World } from './server-world.ts'

interface OpenOptions {
  readonly path?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Subprotocols that are offered, as pages do. */
  readonly protocols?: readonly string[]
  /** Certificates and the like. */
  readonly tls?: ClientRequestArgs & { readonly ca?: string; readonly key?: string; readonly cert?: string }
}

/** A client with a real WebSocket, and what it has been told; goes with the test. */
interface OpenedWebSocket {
  readonly webSocket: WebSocket
  readonly frames: ServerFrame[]
  /** Of the upgrade. */
  readonly headers: IncomingHttpHeaders
  /** Of the answer, where it was no WebSocket. */
  readonly status?: number
  /** Waits for real input, not for time. */
  until(condition: () => boolean): Promise<void>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

export async function openWebSocket(
  world: World,
  { path = '/v1/stream', token = '', headers: more = {}, protocols = [], tls = {} }: OpenOptions = {},
): Promise<OpenedWebSocket> {
  const headers = { ...(token !== '' && { authorization: `Bearer ${token}` }), ...more }
  const url = (await world.url()).replace('http', 'ws') + path
  const webSocket = new WebSocket(url, [...protocols], { headers, ...tls })
  onTestFinished(() => webSocket.terminate())
  const frames: ServerFrame[] = []
  const waiting = new Set<() => void>()
  webSocket.on('message', (data) => {
    frames.push(JSON.parse(String(data)))
    for (const look of waiting) look()
  })
  webSocket.on('error', () => {})
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    webSocket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  const until = (condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!condition()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  let answered: IncomingHttpHeaders = {}
  webSocket.on('upgrade', (response) => {
    answered = response.headers
  })
  const status = await new Promise<number | undefined>((resolve) => {
    webSocket.on('open', () => resolve(undefined))
    webSocket.on('unexpected-response', (_, response) => resolve(response.statusCode))
  })
  return { webSocket, frames, until, closed, headers: answered, ...(status !== undefined && { status }) }
}

/** Sends one request on it, and waits for its reply. */
export async function askOn({ webSocket, frames, until }: OpenedWebSocket, request: object): Promise<unknown> {
  const replies = () => frames.flatMap((frame) => frame.replies ?? [])
  const from = 1 + Math.max(0, ...replies().map(([number]) => number))
  webSocket.send(JSON.stringify({ from, requests: [request] }))
  await until(() => replies().some(([number]) => number === from))
  return replies().find(([number]) => number === from)![1]
}
