import { createServer, type Server, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https'
import type { Socket } from 'node:net'
import { errorBody } from '@baton-lock/protocol'
import type { ServerLimits } from '../limits.ts'

interface HttpServerOptions {
  readonly limits: ServerLimits
  /** Key and certificate; `undefined`: no TLS. */
  readonly https: TlsOptions | undefined
}

/** Node's server, with limits on how long a request may take to arrive, and how large its head may be. */
export function newHttpServer({ limits, https }: HttpServerOptions): Server {
  const options = {
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // How often connections are checked for requests that are overdue.
    connectionsCheckingInterval: Math.max(100, limits.requestMs / 10),
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    // Node's own answer would not wait for its turn: see dispatcher.ts.
    requireHostHeader: false,
  }
  const server = https ? createTlsServer({ ...options, ...https }) : createServer(options)
  server.on('clientError', answerBrokenRequest)
  return server
}

/** The event by which a socket comes to the parser of the server; it may also be emitted, for a socket that is to be parsed again. */
export function connectionEvent(server: Server): string {
  return 'setSecureContext' in server ? 'secureConnection' : 'connection'
}

/** What is not HTTP, or does not arrive in time, never becomes a request: it is answered on the socket. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] = brokenBy(error.code)
  const body = JSON.stringify(errorBody('bad-request', message))
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8`
  // The client may go on sending for ever: nothing more is read.
  socket.end(`${head}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy())
}

function brokenBy(code: string | undefined): [status: number, message: string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'The request did not arrive in time; send it whole.']
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'The headers are too large; send less.']
  return [400, 'This is not a well-formed HTTP/1.1 request.']
}
