import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { connectionEvent } from '../http/http-server.ts'

/** Headers that belong to the offer. */
const OFFER = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * Answers a request that offers another protocol as if it did not, as HTTP allows. Some libraries send `Upgrade: h2c` with every
 * request, and Node hands over all of these once anybody listens for upgrades. The request goes back to the same socket without
 * the offer, and the socket back to the server.
 */
export function declineUpgrade(
  server: Server,
  { request, socket, head }: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!OFFER.has(rawHeaders[index]!.toLowerCase())) lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  }
  const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  socket.unshift(Buffer.concat([again, head]))
  server.emit(connectionEvent(server), socket)
}
