import { connect, type Socket } from 'node:net'
import type { Target } from './attack.ts'

/** A request of HTTP as it goes over the wire. */
export function httpText(method: string, path: string, options: TextOptions = {}): string {
  const { body, token, headers = {} } = options
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const all: Record<string, string> = {
    Host: '127.0.0.1',
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(text)}` }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`
}

interface TextOptions {
  readonly body?: unknown
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A socket to the server that does not mind how it ends. */
export function rawSocket({ port, signal }: Target): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => resolve(socket))
    socket.on('connect', () => resolve(socket))
    const end = () => void socket.destroy()
    signal.addEventListener('abort', end, { once: true })
    socket.on('close', () => {
      signal.removeEventListener('abort', end)
      resolve(socket)
    })
  })
}

/** One that never reads what it is sent. */
export async function deafSocket(target: Target): Promise<Socket> {
  const socket = await rawSocket(target)
  socket.pause()
  return socket
}

/** Asks, and reads the answer; nothing where none came. */
export async function ask(
  target: Target,
  path: string,
  { method = 'POST', body, token = target.tokens.node, headers = {} }: AskOptions = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> } | undefined> {
  try {
    const response = await fetch(target.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: target.signal,
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  } catch {
    return undefined
  }
}

interface AskOptions {
  readonly method?: string
  readonly body?: unknown
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** So many of these, one after another or side by side, until it is over. */
export async function flood(
  { signal }: Target,
  { lanes, one }: { readonly lanes: number; readonly one: (count: number) => Promise<unknown> },
): Promise<void> {
  let count = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (!signal.aborted) await one(count++)
    }),
  )
}

export function until({ signal }: Target): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
