import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Facts, Standing } from '../../core/index.ts'
import { errors } from '../../protocol/index.ts'
import type { Service } from '../../service/index.ts'
import { addressOf, askOf, type ClassicAsk, NAMESPACE, placeOf } from './ask.ts'
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

/** GET or POST /lock/status: for clients that poll. A poll is a sign of life, and claims what it finds; a browser's GET is a look. */
export function serveStatus(app: FastifyInstance, { service, guard, requestLog }: ClassicOptions): void {
  app.route({
    method: ['GET', 'POST'],
    url: '/lock/status',
    handler: async (request) => {
      const ask = askOf(inputOf(request))
      const facts = guard.checkClassic(request.asker, { namespace: NAMESPACE, node: ask.node })
      return request.asker.onlyLooks ? seenStatus(service, ask) : statusOf(service, ask, facts)
    },
    errorHandler: (error, request, reply) => {
      const { code, message } = requestLog.failed(request.raw, error)
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
      const claim = await service.command(addressOf(ask), acquireOf(ask), facts)
      return claim.status === 'granted' ? ACQUIRED : WAITING
    }
    case 'queued':
      await service.call({ type: 'renew', ...place }, facts)
      return WAITING
    default:
      return endedStatus(service, ask, standing)
  }
}

/** The same, and nothing is changed. What is not claimed yet is not said to be acquired: nobody may begin on that. */
async function seenStatus(service: Service, ask: ClassicAsk): Promise<Status> {
  const standing = await service.standing(placeOf(ask))
  if (standing.status === 'granted') return standing.claimed ? ACQUIRED : WAITING
  return standing.status === 'queued' ? WAITING : endedStatus(service, ask, standing)
}

async function endedStatus(
  service: Service,
  ask: ClassicAsk,
  standing: Exclude<Standing, { status: 'granted' | 'queued' }>,
): Promise<Status> {
  switch (standing.status) {
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
  const address = addressOf(ask)
  if (await service.lateSkip(address, ask.operation)) return SUCCEEDED
  const view = await service.look(address)
  const isOfKey = ({ operation }: { operation: string }) => operation === ask.operation
  if (view?.grants.some(isOfKey)) return WAITING
  const outcome = view?.recent.find(isOfKey)?.outcome
  if (!outcome) return WAITING
  if (outcome.outcome === 'success') return SUCCEEDED
  return failed('error' in outcome ? outcome.error : outcome.outcome)
}

function failed(error: string): Status {
  return { ...WAITING, completed: true, error }
}
