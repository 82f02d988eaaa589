import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Facts } from '../../core/index.ts'
import { errors } from '../../protocol/index.ts'
import type { Service } from '../../service/index.ts'
import { bodyOf } from '../refusal.ts'
import { askOf, type ClassicAsk, NAMESPACE, placeOf } from './ask.ts'
import { lookAt } from './late-success.ts'
import { acquireOf } from './lock.ts'
import type { ClassicOptions } from './options.ts'

interface Status {
  readonly acquired: boolean
  readonly completed: boolean
  readonly success: boolean
  readonly error: string
}

const WAITING: Status = { acquired: false, completed: false, success: false, error: '' }
const ACQUIRED: Status = { ...WAITING, acquired: true }
const SUCCEEDED: Status = { ...WAITING, completed: true, success: true }

/** GET or POST /lock/status: for clients that poll. A poll is a sign of life, and claims what it finds. */
export function serveStatus(app: FastifyInstance, { service, guard, log }: ClassicOptions): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/lock/status',
    handler: async (request) => {
      const ask = askOf(inputOf(request))
      return statusOf(service, ask, guard.checkClassic(request.asker, { namespace: NAMESPACE, node: ask.node }))
    },
    errorHandler: (error, _request, reply) => {
      const { code, message } = bodyOf(error, log)
      return reply.code(errors[code].status).send({ ...WAITING, error: message })
    },
  })
}

/** In the query or in the body, whatever the method. */
function inputOf({ query, body }: FastifyRequest): unknown {
  return body === undefined || body === null ? query : body
}

async function statusOf(service: Service, ask: ClassicAsk, facts: Facts): Promise<Status> {
  const { hold, ...place } = placeOf(ask)
  const standing = await service.standing({ ...place, hold })
  // What it is told now it has heard.
  if ('fence' in standing && standing.status !== 'granted')
    await service.heard({ ...place, hold, fence: standing.fence }, facts)
  switch (standing.status) {
    case 'granted': {
      if (standing.claimed) return ACQUIRED
      const claim = await service.command(acquireOf(ask), facts)
      return claim.status === 'granted' ? ACQUIRED : WAITING
    }
    case 'queued':
      await service.call({ type: 'renew', ...place }, facts)
      return WAITING
    case 'skip':
      return SUCCEEDED
    case 'failed':
      return failed(standing.error)
    case 'refused':
      return failed(standing.code)
    case 'nothing':
      return completedStatus(service, ask)
  }
}

/** For one that does not wait: how the key stands, as far as that is still known. */
async function completedStatus(service: Service, ask: ClassicAsk): Promise<Status> {
  const address = { namespace: NAMESPACE, resource: ask.resource }
  if (await service.lateSkip(address, ask.operation)) return SUCCEEDED
  const view = await lookAt(ask, service)
  const isOfKey = ({ operation }: { operation: string }) => operation === ask.operation
  if (view.grants.some(isOfKey)) return WAITING
  const outcome = view.recent.find(isOfKey)?.outcome
  if (!outcome) return WAITING
  if (outcome.outcome === 'success') return SUCCEEDED
  return failed('error' in outcome ? outcome.error : outcome.outcome)
}

function failed(error: string): Status {
  return { ...WAITING, completed: true, error }
}
