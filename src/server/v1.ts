import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import {
  batchRoute,
  type ErrorBody,
  errors,
  LIMITS,
  type ReplyOf,
  type Request,
  type RequestType,
  routes,
  type Who,
} from '../protocol/index.ts'
import { isReading, type ReadBudget, type Service } from '../service/index.ts'
import type { Admission, Admitted } from './admission.ts'
import type { OnAnswer } from './audit.ts'
import { check, isRequestType } from './check.ts'
import type { Asker } from './guard.ts'
import type { Posts } from './posts.ts'
import type { Reading } from './reading.ts'
import { Refusal } from './refusal.ts'
import type { RequestLog } from './request-log.ts'

interface V1Options {
  readonly service: Service
  readonly admission: Admission
  readonly requestLog: RequestLog
  readonly posts: Posts
  readonly reading: Reading
}

/** Every request type at its route: what was checked goes to the service, what it says goes back. */
export function serveRequests(
  app: FastifyInstance,
  { service, admission, posts, reading, requestLog }: V1Options,
): void {
  const answer = async (type: RequestType, input: unknown, { asker, response }: From) => {
    const asked = check(type, input)
    const admitted = admission.admit(asker, asked, () => ({ ...requestLog.names.of(response.req) }))
    if (!('request' in admitted)) return { status: 200, body: admitted }
    const budget = isReading(asked) ? reading.budgetFor(response) : undefined
    const { onAnswer } = admitted
    const call = service.call(admitted.request, admitted.facts, budget)
    const body = await (onAnswer ? told(call, onAnswer) : call)
    return { status: statusOf(body), body }
  }
  for (const [type, { method, path }] of Object.entries(routes) as [RequestType, (typeof routes)[RequestType]][]) {
    if (method === 'POST')
      posts.add(app, { path, refused, answer: (body, asker, response) => answer(type, body, { asker, response }) })
    else
      app.route({
        method,
        url: path,
        handler: async (request, reply) => {
          const from = { asker: request.asker, response: reply.raw }
          const { status, body } = await answer(type, method === 'GET' ? request.query : request.body, from)
          if (body.status !== 'policy') return reply.code(status).send(body)
          return reply.code(status).type('application/json; charset=utf-8').send(policyText(body))
        },
      })
  }
}

async function told<Reply extends ReplyOf<RequestType>>(call: Promise<Reply>, onAnswer: OnAnswer): Promise<Reply> {
  await call.then(onAnswer, (error) => onAnswer(undefined, error))
  return call
}

/** Who asks, and what it is answered on. */
interface From {
  readonly asker: Asker
  readonly response: ServerResponse
}

const policyTexts = new WeakMap<object, string>()

/** A policy may be large and is read often: it is written as text once. */
function policyText({ status, version, policy }: Exclude<ReplyOf<'get-policy'>, ErrorBody>): string {
  const text = policyTexts.get(policy) ?? JSON.stringify(policy)
  policyTexts.set(policy, text)
  return `{"status":${JSON.stringify(status)},"version":${version},"policy":${text}}`
}

function refused(body: ErrorBody) {
  return { status: errors[body.code].status, body }
}

/** POST /v1/batch: nothing is done unless every request of it is good. */
export function serveBatch(app: FastifyInstance, { service, admission, requestLog, posts, reading }: V1Options): void {
  const answer = async (body: unknown, asker: Asker, response: ServerResponse) => {
    const asked = batchOf(body)
    const admitted = asked.map((one, index) => {
      try {
        return admission.admit(asker, one, () => ({ ...requestLog.names.of(response.req) }))
      } catch (error) {
        throw error instanceof Refusal ? new Refusal(error.code, `requests.${index}: ${error.message}`) : error
      }
    })
    const budget = asked.some(isReading) ? reading.budgetFor(response) : undefined
    // What the store cannot do is the answer of that one request: the others stand.
    const replies = await answersOf(service, admitted, {
      budget,
      failed: (error) => requestLog.failed(response.req, error),
    })
    return { status: 200, body: { replies } }
  }
  posts.add(app, { path: batchRoute.path, refused, answer })
}

function answersOf(
  service: Service,
  admitted: readonly (Admitted | Who)[],
  { budget, failed }: { readonly budget: ReadBudget | undefined; readonly failed: (error: unknown) => ErrorBody },
): Promise<ReplyOf<RequestType>[]> {
  return new Promise((resolve) => {
    const replies: ReplyOf<RequestType>[] = []
    const asked: Admitted[] = []
    const places: number[] = []
    for (const [place, one] of admitted.entries()) {
      if (!('request' in one)) replies[place] = one
      else {
        asked.push(one)
        places.push(place)
      }
    }
    let left = asked.length
    const tell = (index: number, reply: ReplyOf<RequestType> | undefined, error: unknown) => {
      asked[index]!.onAnswer?.(reply, error)
      replies[places[index]!] = reply ?? failed(error)
      if (--left === 0) resolve(replies)
    }
    if (left === 0) resolve(replies)
    else service.callAll(asked, tell, budget)
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
