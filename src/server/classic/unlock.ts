import type { FastifyInstance } from 'fastify'
import type { ReportedOutcome } from '../../core/index.ts'
import { errors, LIMITS } from '../../protocol/index.ts'
import { Refusal } from '../refusal.ts'
import { askOf, fieldOf, NAMESPACE, placeOf } from './ask.ts'
import type { ClassicOptions } from './options.ts'

/** POST /unlock: the outcome. These clients know no fence; the node is the holder or it is not. */
export function serveUnlock(app: FastifyInstance, { service, guard, posts }: ClassicOptions): void {
  posts.add(app, {
    path: '/unlock',
    answer: async (input, asker) => {
      const ask = askOf(input)
      const outcome = outcomeOf(input)
      const facts = guard.checkClassic(asker, { namespace: NAMESPACE })
      const answer = await service.command({ type: 'release', ...placeOf(ask), ...outcome }, facts)
      if (answer.status === 'refused') return { status: 403, body: { released: false, message: answer.message } }
      return { status: 200, body: { released: true, message: `released: ${answer.outcome}` } }
    },
    refused: ({ code, message }) => ({ status: errors[code].status, body: { released: false, message } }),
  })
}

/** An error, or an explicit `"success": false`, is a failure; everything else is success. */
function outcomeOf(body: unknown): ReportedOutcome {
  const error = fieldOf(body, 'error') ?? ''
  if (typeof error !== 'string') throw new Refusal('bad-request', 'error: must be text.')
  if (error !== '') return { outcome: 'failure', error: error.slice(0, LIMITS.errorChars) }
  return fieldOf(body, 'success') === false ? { outcome: 'failure', error: 'failed' } : { outcome: 'success' }
}
