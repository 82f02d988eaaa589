import type { FastifyInstance } from 'fastify'
import { batchRoute, errors, LIMITS, type ReplyOf, type Request, type RequestType, routes } from '../protocol/index.ts'
import type { Asked, Log, Service } from '../service/index.ts'
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
        const facts = guard.check(request.asker, asked)
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
        return guard.check(request.asker, one)
      } catch (error) {
        throw error instanceof Refusal ? new Refusal(error.code, `requests.${index}: ${error.message}`) : error
      }
    })
    // What the store cannot do is the answer of that one request: the others stand.
    const replies = await answersOf(
      service,
      asked.map((request, index) => ({ request, facts: facts[index]! })),
      log,
    )
    return { replies }
  })
}

function answersOf(service: Service, asked: readonly Asked[], log: Log): Promise<ReplyOf<RequestType>[]> {
  return new Promise((resolve) => {
    const replies: ReplyOf<RequestType>[] = []
    let left = asked.length
    service.callAll(asked, (index, reply, error) => {
      replies[index] = reply ?? bodyOf(error, log)
      if (--left === 0) resolve(replies)
    })
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
