import type { FastifyInstance } from 'fastify'
import type { ReportedOutcome } from '../../core/index.ts'
import { errors, LIMITS } from '../../protocol/index.ts'
import { bodyOf, Refusal } from '../refusal.ts'
import { askOf, fieldOf, NAMESPACE, placeOf } from './ask.ts'
import type { ClassicOptions } from './options.ts'

/** POST /unlock: the outcome. These clients know no fence; the node is the holder or it is not. */
export function serveUnlock(app: FastifyInstance, { service, guard, log }: ClassicOptions): void {
  app.route({
    method: 'POST',
    url: '/unlock',
    handler: async (request, reply) => {
      const ask = askOf(request.body)
      const outcome = outcomeOf(request.body)
      const facts = guard.checkClassic(request.asker, { namespace: NAMESPACE })
      const answer = await service.command({ type: 'release', ...placeOf(ask), ...outcome }, facts)
      if (answer.status === 'refused') return reply.code(403).send({ released: false, message: answer.message })
      return { released: true, message: `released: ${answer.outcome}` }
    },
    errorHandler: (error, _request, reply) => {
      const { code, message } = bodyOf(error, log)
      return reply.code(errors[code].status).send({ released: false, message })
    },
  })
}

/** An error, or an explicit `"success": false`, is a failure; everything else is success. */
function outcomeOf(body: unknown): ReportedOutcome {
  const error = fieldOf(body, 'error') ?? ''
  if (typeof error !== 'string') throw new Refusal('bad-request', 'error: must be text.')
  if (error !== '') return { outcome: 'failure', error: error.slice(0, LIMITS.errorChars) }
  return fieldOf(body, 'success') === false ? { outcome: 'failure', error: 'failed' } : { outcome: 'success' }
}
