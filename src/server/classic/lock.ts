import type { FastifyInstance } from 'fastify'
import { errors, type ReplyOf } from '../../protocol/index.ts'
import { askOf, type ClassicAsk, NAMESPACE, placeOf } from './ask.ts'
import { PLACE_TTL_MS } from './key-watches.ts'
import type { ClassicOptions } from './options.ts'

/** These clients never renew: a holder that asks again refreshes it. */
const LEASE_MS = 3_600_000

/** POST /lock: ask, ask again, or claim. */
export function serveLock(app: FastifyInstance, { service, watches, guard, posts }: ClassicOptions): void {
  posts.add(app, {
    path: '/lock',
    answer: async (input, asker) => {
      const ask = askOf(input)
      const facts = guard.checkClassic(asker, { namespace: NAMESPACE })
      const answer = await service.command(acquireOf(ask), facts)
      if (answer.status === 'queued') watches.queued(ask)
      else watches.answered(ask)
      const body = lockBody(answer)
      return { status: 'error' in body ? 403 : 200, body }
    },
    refused: ({ code, message }) => ({ status: errors[code].status, body: refusal(message) }),
  })
}

/** What a classic ask is to the core. To delete is to dereference, always. */
export function acquireOf(ask: ClassicAsk) {
  return {
    type: 'acquire',
    ...placeOf(ask),
    classic: true,
    ttlMs: LEASE_MS,
    placeTtlMs: PLACE_TTL_MS,
    ...(ask.operation === 'delete' && { dropReference: true }),
  } as const
}

function lockBody(answer: ReplyOf<'acquire'>) {
  switch (answer.status) {
    case 'granted':
      return { acquired: true, skip: false, message: 'acquired' }
    case 'queued':
      return { acquired: false, skip: false, message: `queued at position ${answer.position}` }
    case 'skip':
      return { acquired: false, skip: true, message: 'already done' }
    case 'failed':
      return refusal(answer.error === '' ? 'failed for good' : answer.error)
    case 'refused':
      return refusal(answer.message)
  }
}

function refusal(error: string) {
  return { acquired: false, skip: false, error, message: error }
}
