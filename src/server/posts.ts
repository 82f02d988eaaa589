import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type ErrorBody, STORE_HEADER } from '../protocol/index.ts'
import type { Accounts } from './accounts.ts'
import { jsonFrom } from './body.ts'
import type { FairQueue } from './fair-queue.ts'
import type { Asker, Guard } from './guard.ts'
import type { RequestLog } from './request-log.ts'
import { REQUEST_ID_HEADER } from './request-names.ts'
import { type Access, accessTo } from './roles.ts'

/** What is answered. */
interface Answered {
  readonly status: number
  readonly body: object
}

/** A path that takes a JSON body and answers with JSON: what locks are taken and released by. */
interface PostRoute {
  readonly path: string
  /** Throws, at once or later, what `refused` makes an answer of. */
  answer(body: unknown, asker: Asker, response: ServerResponse): Answered | Promise<Answered>
  refused(error: ErrorBody): Answered
}

interface PostsOptions {
  readonly guard: Guard
  readonly requestLog: RequestLog
  readonly storeId: string
  /** Of a body. */
  readonly maxBytes: number
  readonly queue: FairQueue
  readonly accounts: Accounts
}

/**
 * The routes that are asked most. They are Fastify's as all others are; but a request in the usual form (a body of a known
 * size, no query) of somebody who may ask is answered before it comes to that, as the way through hooks and parsers takes
 * longer than the answer.
 */
export class Posts {
  readonly #options: PostsOptions
  readonly #routes = new Map<string, PostRoute & { readonly access: Access }>()

  constructor(options: PostsOptions) {
    this.#options = options
  }

  add(app: FastifyInstance, route: PostRoute): void {
    const { requestLog } = this.#options
    this.#routes.set(route.path, { ...route, access: accessTo({ method: 'POST', url: route.path }) })
    app.route({
      method: 'POST',
      url: route.path,
      handler: async (request, reply) => {
        const { status, body } = await route.answer(request.body, request.asker, reply.raw)
        return reply.code(status).send(body)
      },
      errorHandler: (error, request, reply) => {
        const refusal = requestLog.failed(request.raw, error)
        const { status, body } = route.refused(refusal)
        if (refusal.code === 'unauthorised') reply.header('www-authenticate', 'Bearer')
        return reply.code(status).send(body)
      },
    })
  }

  /** Whether it answers this one. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    const route = request.method === 'POST' ? this.#routes.get(request.url!) : undefined
    const { headers } = request
    const length = headers['content-length']
    if (!route || length === undefined || headers['transfer-encoding'] !== undefined) return false
    if (Number(length) > this.#options.maxBytes || headers.expect !== undefined) return false
    const asker = this.#identified(request, route.access)
    if (!asker) return false
    request.on('error', ignore)
    response.on('error', ignore)
    let body: Buffer | undefined
    request.on('data', (chunk: Buffer) => {
      body = body ? Buffer.concat([body, chunk]) : chunk
    })
    const { queue, accounts } = this.#options
    const account = accounts.ofRequest(request)
    // Also for one who has gone: what it has sent counts.
    const inTurn = (work: () => void) => queue.run(account, work)
    request.on('end', () => inTurn(() => this.#answer(route, body, { asker, response, inTurn })))
    return true
  }

  /** Nothing where it is refused: nothing of what it sends is read, and Fastify answers it. */
  #identified(request: IncomingMessage, access: Access): Asker | undefined {
    const { guard } = this.#options
    try {
      const asker = guard.identify(request, 'call')
      if (!access.audited) guard.enter(asker, access)
      return asker
    } catch {
      return undefined
    }
  }

  #answer(route: PostRoute, body: Buffer | undefined, { asker, response, inTurn }: Exchange): void {
    let answered: Answered | Promise<Answered>
    try {
      answered = route.answer(jsonFrom(body), asker, response)
    } catch (error) {
      this.#refuse(route, error, response)
      return
    }
    if (answered instanceof Promise)
      answered.then(
        // To write a large reply takes a turn of its own.
        (later) => inTurn(() => this.#send(route, later, response)),
        (error) => this.#refuse(route, error, response),
      )
    else this.#send(route, answered, response)
  }

  #refuse(route: PostRoute, error: unknown, response: ServerResponse): void {
    const refusal = this.#options.requestLog.failed(response.req, error)
    this.#send(route, route.refused(refusal), response)
  }

  /** Head and body in one write. */
  #send({ path }: PostRoute, { status, body }: Answered, response: ServerResponse): void {
    const text = JSON.stringify(body)
    const bytes = Buffer.byteLength(text)
    const head: OutgoingHttpHeaders = { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes }
    const { storeId, requestLog } = this.#options
    if (path.startsWith('/v1/')) head[STORE_HEADER] = storeId
    // Most name themselves by nothing, and nothing happens that they would have to be found by.
    if (requestLog.isDebug || status >= 400 || response.req.headers[REQUEST_ID_HEADER] !== undefined)
      head[REQUEST_ID_HEADER] = requestLog.names.of(response.req).requestId
    if (requestLog.isDebug) requestLog.of(response.req).debug('http request answered', { method: 'POST', path, status })
    response.writeHead(status, head)
    // Where every character is one byte it is copied as it is.
    response.end(text, bytes === text.length ? 'latin1' : 'utf8')
  }
}

interface Exchange {
  readonly asker: Asker
  readonly response: ServerResponse
  /** Does it when this client has its turn. */
  readonly inTurn: (work: () => void) => void
}

/** Whatever breaks on the way, there is nobody left to tell. */
function ignore(): void {}
