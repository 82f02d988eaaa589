import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** Headers that belong to the offer. */
const OFFER = new Set(['upgrade', 'http2-settings', 'connection'])

/**
 * A client may offer to go on by another protocol (`Upgrade: h2c` of some libraries), and a server may decline by answering
 * the request as it is. Node hands over every such request once anybody listens for upgrades, so it is given back: the same
 * bytes, without the offer, to the same socket.
 */
export function withoutUpgrade(
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
  server.emit('connection', socket)
}
