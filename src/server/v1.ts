import type { FastifyInstance } from 'fastify'
import { batchRoute, errors, LIMITS, type ReplyOf, type Request, type RequestType, routes } from '../protocol/index.ts'
import type { Log, Service } from '../service/index.ts'
import { check, isRequestType } from './check.ts'
import type { Guard } from './guard.ts'
import { bodyOf, Refusal } from './refusal.ts'

interface V1Options {
  readonly service: Service
  readonly guard: Guard
  readonly log: Log
}

/** Every request type at its route: what was checked goes to the service, what it says goes back. */
export function serveRequests(app: FastifyInstance, { service, guard }: V1Options): void {
  for (const [type, { method, path }] of Object.entries(routes) as [RequestType, (typeof routes)[RequestType]][]) {
    app.route({
      method,
      url: path,
      handler: async (request, reply) => {
        const asked = check(type, method === 'GET' ? request.query : request.body)
        const facts = guard.check(request, asked)
        const answer = await service.call(asked, facts)
        return reply.code(statusOf(answer)).send(answer)
      },
    })
  }
}

/** POST /v1/batch: nothing is done unless every request of it is good. */
export function serveBatch(app: FastifyInstance, { service, guard, log }: V1Options): void {
  app.post(batchRoute.path, async (request) => {
    const asked = batchOf(request.body)
    const facts = asked.map((one, index) => {
      try {
        return guard.check(request, one)
      } catch (error) {
        throw error instanceof Refusal ? new Refusal(error.code, `requests.${index}: ${error.message}`) : error
      }
    })
    const replies: ReplyOf<RequestType>[] = []
    // What the store cannot do is the answer of that one request: those before it stand.
    for (const [index, one] of asked.entries())
      replies.push(await service.call(one, facts[index]).catch((error) => bodyOf(error, log)))
    return { replies }
  })
}

function batchOf(body: unknown): Request[] {
  const requests = (body as { requests?: unknown } | null | undefined)?.requests
  if (!Array.isArray(requests) || requests.length === 0 || requests.length > LIMITS.batch) {
    throw new Refusal('bad-request', `requests: must be a list of 1 to ${LIMITS.batch} requests.`)
  }
  return requests.map((one: unknown, index) => {
    const type = (one as { type?: unknown } | null)?.type
    if (!isRequestType(type)) {
      throw new Refusal('bad-request', `requests.${index}.type: must be one of ${Object.keys(routes).join(', ')}.`)
    }
    return check(type, one, `requests.${index}: `)
  })
}

function statusOf(reply: ReplyOf<RequestType>): number {
  return reply.status === 'refused' ? errors[reply.code].status : 200
}
