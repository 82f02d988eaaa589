import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type ErrorBody, STORE_HEADER } from '../protocol/index.ts'
import type { Log } from '../service/index.ts'
import { jsonFrom } from './body.ts'
import type { Asker, Guard } from './guard.ts'
import { bodyOf } from './refusal.ts'

/** What is answered. */
interface Answered {
  readonly status: number
  readonly body: object
}

/** A path that takes a JSON body and answers with JSON: what locks are taken and released by. */
interface PostRoute {
  readonly path: string
  /** Throws what `refused` makes an answer of. */
  answer(body: unknown, asker: Asker): Promise<Answered>
  refused(error: ErrorBody): Answered
}

interface PostsOptions {
  readonly guard: Guard
  readonly log: Log
  readonly storeId: string
  /** Of a body. */
  readonly maxBytes: number
}

/**
 * The routes that are asked most. They are Fastify's as all others are; but a request in the usual form (a body of a known
 * size, no query) is answered before it comes to that, as the way through hooks and parsers takes longer than the answer.
 */
export class Posts {
  readonly #options: PostsOptions
  readonly #routes = new Map<string, PostRoute>()

  constructor(options: PostsOptions) {
    this.#options = options
  }

  add(app: FastifyInstance, route: PostRoute): void {
    const { log } = this.#options
    this.#routes.set(route.path, route)
    app.route({
      method: 'POST',
      url: route.path,
      handler: async (request, reply) => {
        const { status, body } = await route.answer(request.body, request.asker)
        return reply.code(status).send(body)
      },
      errorHandler: (error, _request, reply) => {
        const refusal = bodyOf(error, log)
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
    // Whatever breaks on the way, there is nobody left to tell.
    request.on('error', () => {})
    response.on('error', () => {})
    let body: Buffer | undefined
    request.on('data', (chunk: Buffer) => {
      body = body ? Buffer.concat([body, chunk]) : chunk
    })
    request.on('end', () => void this.#answer(route, body, { request, response }))
    return true
  }

  async #answer(
    route: PostRoute,
    body: Buffer | undefined,
    { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  ): Promise<void> {
    const { guard, log, storeId } = this.#options
    let answered: Answered
    let isUnknown = false
    try {
      const asker = guard.identify(request.headers.authorization)
      answered = await route.answer(jsonFrom(body), asker)
    } catch (error) {
      const refusal = bodyOf(error, log)
      isUnknown = refusal.code === 'unauthorised'
      answered = route.refused(refusal)
    }
    const text = JSON.stringify(answered.body)
    response.writeHead(answered.status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      ...(route.path.startsWith('/v1/') && { [STORE_HEADER]: storeId }),
      ...(isUnknown && { 'www-authenticate': 'Bearer' }),
    })
    response.end(text)
  }
}
