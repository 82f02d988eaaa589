import type { FastifyInstance } from 'fastify'
import { type ReportedOutcome, SHARED_HOLD } from '../../core/index.ts'
import { errors, LIMITS } from '../../protocol/index.ts'
import { Refusal } from '../refusal.ts'
import { addressOf, askOf, fieldsOf, NAMESPACE } from './ask.ts'
import type { ClassicOptions } from './options.ts'

/** POST /unlock: the outcome. These clients know no fence; the node is the holder or it is not. */
export function serveUnlock(app: FastifyInstance, { service, guard, posts }: ClassicOptions): void {
  posts.add(app, {
    path: '/unlock',
    answer: async (input, asker) => {
      const ask = askOf(input)
      const outcome = outcomeOf(input)
      const facts = guard.checkClassic(asker, { namespace: NAMESPACE })
      const { operation, node } = ask
      const release = { type: 'release', operation, node, owner: node, hold: SHARED_HOLD, ...outcome } as const
      const answer = await service.command(addressOf(ask), release, facts)
      if (answer.status === 'refused') return { status: 403, body: { released: false, message: answer.message } }
      return { status: 200, body: { released: true, message: `released: ${answer.outcome}` } }
    },
    refused: ({ code, message }) => ({ status: errors[code].status, body: { released: false, message } }),
  })
}

/** An error, or an explicit `"success": false`, is a failure; everything else is success. */
function outcomeOf(body: unknown): ReportedOutcome {
  const { error: said, success } = fieldsOf(body)
  const error = said ?? ''
  if (typeof error !== 'string') throw new Refusal('bad-request', 'error: must be text.')
  if (error !== '') return { outcome: 'failure', error: error.slice(0, LIMITS.errorChars) }
  return success === false ? { outcome: 'failure', error: 'failed' } : { outcome: 'success' }
}
