import { type IncomingMessage, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { errorBody, errors } from '../protocol/index.ts'
import type { Accounts } from './accounts.ts'
import { Answer, Answers } from './answers.ts'
import { refuse } from './failures.ts'
import type { FairQueue } from './fair-queue.ts'
import type { ServerLimits } from './limits.ts'
import { closeUnread } from './linger.ts'
import type { Posts } from './posts.ts'
import type { RequestLog } from './request-log.ts'
import { REQUEST_ID_HEADER, type RequestNames } from './request-names.ts'
import type { Unsent } from './unsent.ts'

interface Connections {
  readonly limits: ServerLimits
  readonly https: TlsOptions | undefined
  readonly requestLog: RequestLog
  /** What is answered before Fastify. */
  readonly posts: Posts
  readonly unsent: Unsent
  readonly queue: FairQueue
  readonly accounts: Accounts
  /** Whether the server is about to stop. */
  readonly isDraining: () => boolean
}

/** Fastify with limits on what a connection may cost: how long its request takes to arrive, how large it is. */
export function newFastify(connections: Connections): FastifyInstance {
  const { limits, https, requestLog, posts, unsent, queue, accounts } = connections
  const { names } = requestLog
  const options = {
    headersTimeout: limits.requestMs,
    // How often half-open connections are looked for.
    connectionsCheckingInterval: Math.max(100, limits.requestMs / 10),
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    ServerResponse: Answer,
    // What Node would answer by itself would not wait for its turn.
    requireHostHeader: false,
  }
  const app = Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    exposeHeadRoutes: false,
    genReqId: (request) => names.of(request).requestId,
    frameworkErrors: (error, request, reply) => {
      void refuse(reply.header(REQUEST_ID_HEADER, request.id), requestLog.failed(request.raw, error))
    },
    clientErrorHandler: answerBrokenRequest,
    ...(https ? { https: { ...options, ...https } } : { http: options }),
  }) as FastifyInstance
  const [serve] = app.server.listeners('request') as [RequestListener]
  app.server.removeAllListeners('request')
  const answers = new Answers({
    unsent,
    ahead: limits.requestsAhead,
    names,
    isLast: connections.isDraining,
    serve: (request, response) => {
      if (refuseHead(request, response, names) || posts.take(request, response)) return
      queue.run(accounts.ofRequest(request), () => {
        // What waited for its turn may be of somebody who has gone.
        if (!request.socket.destroyed) serve(request, response)
      })
    },
  })
  const take: RequestListener = (request, response) => answers.take(request, response)
  app.server.on('request', take)
  app.server.on('checkExpectation', take)
  app.addHook('onSend', async (request, reply) => {
    if (reply.statusCode === errors['too-large'].status) closeUnread(request.raw)
  })
  if (requestLog.isDebug)
    app.addHook('onResponse', async ({ raw, method, routeOptions }, { statusCode: status }) => {
      // Not its path, where that is none of ours: it may hold anything.
      requestLog.of(raw).debug('http request answered', { method, path: routeOptions.url, status })
    })
  return app
}

/** Whether it is refused for its headers. */
function refuseHead(request: IncomingMessage, response: ServerResponse, names: RequestNames): boolean {
  const { headers, httpVersion } = request
  const { host, expect } = headers
  if (host === undefined && httpVersion === '1.1') {
    response.writeHead(400, { connection: 'close', [REQUEST_ID_HEADER]: names.of(request).requestId }).end()
    return true
  }
  if (expect === undefined || /^100-continue$/i.test(expect)) return false
  response.writeHead(417, { [REQUEST_ID_HEADER]: names.of(request).requestId }).end()
  return true
}

/** What is no HTTP, or does not arrive in time, never becomes a request: it is answered on the socket. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, message] = brokenBy(error.code)
  const body = JSON.stringify(errorBody('bad-request', message))
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8`
  // It may go on sending for ever: nothing of it is read any more.
  socket.end(`${head}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy())
}

function brokenBy(code: string | undefined): [status: number, message: string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'The request did not arrive in time; send it whole.']
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'The headers are too large; send less.']
  return [400, 'This is not a well-formed HTTP/1.1 request.']
}
