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
} from '@baton-lock/protocol'
import { isReading, type ReadBudget, type Service } from '@baton-lock/service'
import type { Answer, Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import type { OnAnswer } from '../logging/audit.ts'
import type { RequestLog } from '../logging/request-log.ts'
import { Refusal } from '../refusal.ts'
import type { Admission, Admitted } from './admission.ts'
import { check, isRequestType, typeIn } from './check.ts'

interface RequestsOptions {
  readonly service: Service
  readonly admission: Admission
  readonly requestLog: RequestLog
  /** What the reads of one request or batch may tell, about. */
  readonly replyBytes: number
}

/** Every request type at its route. */
export function requestRoutes({ service, admission, replyBytes }: RequestsOptions): HttpRoute[] {
  const answer = async (type: RequestType, input: unknown, exchange: Exchange): Promise<Answer> => {
    const request = check(input, type)
    const admitted = admission.admit(exchange.asker, request, () => ({ ...exchange.name }))
    if (!('request' in admitted)) return { status: 200, json: admitted }
    const { facts, onAnswer } = admitted
    const budget = isReading(request) ? budgetOf(service, replyBytes, exchange) : undefined
    const call = service.call(admitted.request, facts, budget)
    const reply = await (onAnswer ? observed(call, onAnswer) : call)
    return reply.status === 'policy' ? policyAnswer(reply) : { status: statusOf(reply), json: reply }
  }
  const types = Object.entries(routes) as [RequestType, (typeof routes)[RequestType]][]
  return types.map(([type, { method, path }]) => ({
    method,
    path,
    handle: (exchange) => answer(type, method === 'GET' ? exchange.query : exchange.body, exchange),
  }))
}

/** What the reads of one exchange may cost. They end when its client leaves. */
function budgetOf(service: Service, bytes: number, exchange: Exchange): ReadBudget {
  return service.budget({ bytes, isGone: () => exchange.isGone })
}

function observed<Reply extends ReplyOf<RequestType>>(call: Promise<Reply>, onAnswer: OnAnswer): Promise<Reply> {
  return call.then(
    (reply) => {
      onAnswer(reply)
      return reply
    },
    (error) => {
      onAnswer(undefined, error)
      throw error
    },
  )
}

function statusOf(reply: ReplyOf<RequestType>): number {
  return reply.status === 'refused' ? errors[reply.code].status : 200
}

const policyTexts = new WeakMap<object, string>()

/** A policy may be large and is read often: it becomes text once. */
function policyAnswer({ version, policy }: Exclude<ReplyOf<'get-policy'>, ErrorBody>): Answer {
  const text = policyTexts.get(policy) ?? JSON.stringify(policy)
  policyTexts.set(policy, text)
  const data = `{"status":"policy","version":${version},"policy":${text}}`
  return { status: 200, content: { type: 'application/json; charset=utf-8', data } }
}

/** POST /v1/batch: nothing is carried out unless every request of it is good. */
export function batchRoutes({ service, admission, requestLog, replyBytes }: RequestsOptions): HttpRoute[] {
  const handle = async (exchange: Exchange): Promise<Answer> => {
    const requests = batchOf(exchange.body)
    const admitted = requests.map((request, index) => {
      try {
        return admission.admit(exchange.asker, request, () => ({ ...exchange.name }))
      } catch (error) {
        throw error instanceof Refusal ? new Refusal(error.code, `requests.${index}: ${error.message}`) : error
      }
    })
    const budget = requests.some(isReading) ? budgetOf(service, replyBytes, exchange) : undefined
    // If the store fails in one request, that is the answer of this one: the others stand.
    const failed = (error: unknown) => requestLog.failed(error, () => exchange.log)
    const replies = await repliesTo(service, admitted, { budget, failed })
    return { status: 200, json: { replies } }
  }
  return [{ method: batchRoute.method, path: batchRoute.path, handle }]
}

interface ReplyOptions {
  readonly budget: ReadBudget | undefined
  readonly failed: (error: unknown) => ErrorBody
}

function repliesTo(
  service: Service,
  admitted: readonly (Admitted | Who)[],
  { budget, failed }: ReplyOptions,
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
    else void service.callAll(asked, tell, budget)
  })
}

function batchOf(body: unknown): Request[] {
  const requests = (body as { requests?: unknown } | null | undefined)?.requests
  if (!Array.isArray(requests) || requests.length === 0 || requests.length > LIMITS.batch) {
    throw new Refusal('bad-request', `requests: must be a list of 1 to ${LIMITS.batch} requests.`)
  }
  return requests.map((one: unknown, index) => {
    const type = typeIn(one)
    if (!isRequestType(type)) {
      throw new Refusal('bad-request', `requests.${index}.type: must be one of ${Object.keys(routes).join(', ')}.`)
    }
    return check(one, type, `requests.${index}: `)
  })
}
