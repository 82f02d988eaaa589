import type { Baton, ConnectOptions } from './api.ts'
import { checkOptions } from './check-options.ts'
import { Client } from './client.ts'
import { systemClientClock } from './clock.ts'
import { webSocketDial } from './connection/web-socket.ts'
import { WebSocketTransport } from './connection/web-socket-transport.ts'
import { warn } from './environment.ts'
import { ArgumentError } from './errors.ts'
import { systemRandom } from './random.ts'
import { inOwnContext, tracerFor } from './traces/find-tracer.ts'

/**
 * A client of one or more servers over the same store, by their URLs (an array, or a text with commas). It does not connect before
 * the first call; `whenUnavailable` of each call says what happens without a server.
 */
export async function connect(urls: string | readonly string[], options: ConnectOptions = {}): Promise<Baton> {
  const list = typeof urls === 'string' ? urls.split(',') : urls
  if (!Array.isArray(list) || !list.every((url) => typeof url === 'string')) {
    throw new ArgumentError('connect: the servers must be a URL like http://127.0.0.1:8086, or several of them')
  }
  checkOptions('connect', options)
  const notice = options.onNotice ?? warn
  const named = list.map((url: string) => url.trim()).filter((url: string) => url !== '')
  if (named.length === 0) throw new ArgumentError('no server is named; give a URL like http://127.0.0.1:8086')
  const bases = named.map(baseOf)
  const { token, tls } = options
  const findTracer = await tracerFor(options.tracer)
  const clock = findTracer ? inOwnContext(systemClientClock()) : systemClientClock()
  const transport = new WebSocketTransport({
    bases,
    clock,
    notice,
    dial: webSocketDial({ token, tls }),
  })
  return new Client(transport, { clock, notice, random: systemRandom, findTracer }, options)
}

function baseOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new ArgumentError(`'${text}' is not the URL of a server; write it like http://127.0.0.1:8086`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new ArgumentError(`the URL of ${url.origin} holds credentials; give a token instead`)
  }
  return url
}
