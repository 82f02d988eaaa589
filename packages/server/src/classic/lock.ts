import { type Acquire, SHARED_HOLD } from '@baton-lock/core'
import type { ReplyOf } from '@baton-lock/protocol'
import type { Answer, Exchange } from '../http/exchange.ts'
import type { HttpRoute } from '../http/router.ts'
import { addressOf, type ClassicAsk, lockOf, NAMESPACE, unlockOf } from './ask.ts'
import { PLACE_TTL_MS } from './key-watches.ts'
import type { ClassicOptions } from './options.ts'

/** These clients never renew: a holder that asks again refreshes it. */
const LEASE_MS = 3_600_000

/** POST /lock: ask, ask again, or claim. POST /unlock: report the outcome. */
export function lockRoutes({ service, watches, guard }: ClassicOptions): HttpRoute[] {
  const locked = (ask: ClassicAsk, reply: ReplyOf<'acquire'>): Answer => {
    if (reply.status === 'queued') watches.queued(ask)
    else watches.answered(ask)
    const json = lockBody(reply)
    return { status: 'error' in json ? 403 : 200, json }
  }
  const lock = async ({ asker, body }: Exchange) => {
    const { ask, force } = lockOf(body)
    const facts = guard.checkClassic(asker, { namespace: NAMESPACE, node: ask.node })
    return locked(ask, await service.command(addressOf(ask), acquireOf(ask, force), facts))
  }
  const unlock = async ({ asker, body }: Exchange): Promise<Answer> => {
    const { ask, outcome } = unlockOf(body)
    const { operation, node } = ask
    const facts = guard.checkClassic(asker, { namespace: NAMESPACE, node })
    // These clients know no fence: the node is the holder, or it is not.
    const release = { type: 'release', operation, node, owner: node, hold: SHARED_HOLD, ...outcome } as const
    const reply = await service.command(addressOf(ask), release, facts)
    if (reply.status === 'refused') return { status: 403, json: notReleased(reply.message) }
    return { status: 200, json: { released: true, message: `released: ${reply.outcome}` } }
  }
  return [
    { method: 'POST', path: '/lock', handle: lock, refused: ({ message }) => refusal(message) },
    { method: 'POST', path: '/unlock', handle: unlock, refused: ({ message }) => notReleased(message) },
  ]
}

/** A classic ask as a command. A delete always drops the node's own reference. */
export function acquireOf({ operation, node }: ClassicAsk, force = false): Acquire {
  return {
    type: 'acquire',
    operation,
    node,
    owner: node,
    hold: SHARED_HOLD,
    classic: true,
    ttlMs: LEASE_MS,
    placeTtlMs: PLACE_TTL_MS,
    disbelieve: force ? Number.MAX_SAFE_INTEGER : undefined,
    dropReference: operation === 'delete' || undefined,
  }
}

function lockBody(reply: ReplyOf<'acquire'>) {
  switch (reply.status) {
    case 'granted':
      return { acquired: true, skip: false, message: 'acquired' }
    case 'queued':
      return { acquired: false, skip: false, message: `queued at position ${reply.position}` }
    case 'skip':
      return { acquired: false, skip: true, message: 'already done' }
    case 'failed':
      return refusal(reply.error === '' ? 'failed for good' : reply.error)
    case 'refused':
      return refusal(reply.message)
  }
}

function refusal(error: string) {
  return { acquired: false, skip: false, error, message: error }
}

function notReleased(message: string) {
  return { released: false, message }
}
