import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorBody, errorBody, errors } from '../protocol/index.ts'
import { knownBodyOf, Refusal } from './refusal.ts'
import type { RequestLog } from './request-log.ts'

/** Answers what no route answers: errors that are thrown, paths that are not there, methods that a path does not take. */
export function answerFailures(app: FastifyInstance, requestLog: RequestLog): void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    methods.set(url, known)
    for (const one of [method].flat()) known.add(one)
  })
  const notFound = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = methods.get(request.url.split('?')[0] ?? '')
    const body = requestLog.refused(errorBody(allowed ? 'method-not-allowed' : 'not-found'))
    return refuse(allowed ? reply.header('allow', [...allowed].join(', ')) : reply, body)
  }
  app.setNotFoundHandler(notFound)
  app.setErrorHandler((error, request, reply) => {
    if (request.is404 && knownBodyOf(error)?.code === 'bad-request') return notFound(request, reply)
    return refuse(reply, requestLog.failed(request.raw, error))
  })
}

export function refuse(reply: FastifyReply, body: ErrorBody): FastifyReply {
  if (body.code === 'unauthorised') reply.header('www-authenticate', 'Bearer')
  return reply.code(errors[body.code].status).send(body)
}

/** The router leaves a query that is not well encoded as it is; it would pass for an id with percent signs. */
export function checkQueryEncoding({ raw }: FastifyRequest): void {
  const query = raw.url?.split('?', 2)[1]
  if (query === undefined) return
  try {
    decodeURIComponent(query)
  } catch {
    throw new Refusal('bad-request', 'The query is not well encoded; write a percent sign as %25.')
  }
}
