import type { FastifyInstance } from 'fastify'
import { type Acquire, SHARED_HOLD } from '../../core/index.ts'
import { errors, type ReplyOf } from '../../protocol/index.ts'
import { addressOf, askOf, type ClassicAsk, NAMESPACE } from './ask.ts'
import { PLACE_TTL_MS } from './key-watches.ts'
import type { ClassicOptions } from './options.ts'

/** These clients never renew: a holder that asks again refreshes it. */
const LEASE_MS = 3_600_000

/** POST /lock: ask, ask again, or claim. */
export function serveLock(app: FastifyInstance, { service, watches, guard, posts }: ClassicOptions): void {
  const told = (ask: ClassicAsk, answer: ReplyOf<'acquire'>) => {
    if (answer.status === 'queued') watches.queued(ask)
    else watches.answered(ask)
    const body = lockBody(answer)
    return { status: 'error' in body ? 403 : 200, body }
  }
  posts.add(app, {
    path: '/lock',
    answer: (input, asker) => {
      const ask = askOf(input)
      const facts = guard.checkClassic(asker, { namespace: NAMESPACE })
      const answer = service.command(addressOf(ask), acquireOf(ask), facts)
      return answer instanceof Promise ? answer.then((each) => told(ask, each)) : told(ask, answer)
    },
    refused: ({ code, message }) => ({ status: errors[code].status, body: refusal(message) }),
  })
}

/** What a classic ask is to the core. To delete is to dereference, always. */
export function acquireOf({ operation, node }: ClassicAsk): Acquire {
  return {
    type: 'acquire',
    operation,
    node,
    owner: node,
    hold: SHARED_HOLD,
    classic: true,
    ttlMs: LEASE_MS,
    placeTtlMs: PLACE_TTL_MS,
    dropReference: operation === 'delete' || undefined,
  }
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
