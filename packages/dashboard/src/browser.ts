import type { ErrorBody, Who } from '@baton-lock/protocol'
import { STREAM_PROTOCOL, streamRoute, TOKEN_PROTOCOL } from '@baton-lock/protocol/stream/stream'
import type { PageSocket, SocketHandlers } from './model/stream.ts'
import type { PageTimers } from './model/timers.ts'

/* What a browser has and a test does not: time, the network, what is stored. Nothing else here touches them. */

export const browserTimers: PageTimers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
  monoMs: () => performance.now(),
  random: () => Math.random(),
}

const TOKEN = 'baton-token'
const THEME = 'baton-theme'
const WHO_MS = 10_000

/** The token of this tab; it goes with it. */
export const token = {
  get: (): string | undefined => sessionStorage.getItem(TOKEN) ?? undefined,
  set(secret: string | undefined): void {
    if (secret === undefined) sessionStorage.removeItem(TOKEN)
    else sessionStorage.setItem(TOKEN, secret)
  },
}

export type Theme = 'system' | 'light' | 'dark'

/** Light or dark, as this browser was told last. */
export const theme = {
  get(): Theme {
    const said = localStorage.getItem(THEME)
    return said === 'light' || said === 'dark' ? said : 'system'
  },
  set(wanted: Theme): void {
    if (wanted === 'system') localStorage.removeItem(THEME)
    else localStorage.setItem(THEME, wanted)
    theme.apply()
  },
  apply(): void {
    const wanted = theme.get()
    if (wanted === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = wanted
  },
}

/** Relative to the page, which may stand below a path of a proxy. */
function urlOf(path: string): URL {
  return new URL(`.${path}`, new URL('.', location.href))
}

export async function who(): Promise<Who | ErrorBody> {
  const secret = token.get()
  const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
  const response = await fetch(urlOf('/v1/who'), { headers, cache: 'no-store', signal: AbortSignal.timeout(WHO_MS) })
  return response.json()
}

export function dial({ onText, onClose }: SocketHandlers): PageSocket {
  const url = urlOf(streamRoute.path)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  const secret = token.get()
  const shown = secret === undefined ? [] : [TOKEN_PROTOCOL + base64Url(secret)]
  const socket = new WebSocket(url, [STREAM_PROTOCOL, ...shown])
  socket.onmessage = ({ data }) => onText(String(data))
  socket.onclose = () => onClose()
  return {
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    close: () => socket.close(),
  }
}

function base64Url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text))
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
