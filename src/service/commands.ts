import type { Command } from '../core/index.ts'
import type { Request, ServiceRequest } from '../protocol/index.ts'

/** How long a place in line of a request without a session lives after its last sign of life. */
const PLACE_TTL_MS = 60_000

/** The requests that are one step of one resource. */
const STEPPING = [
  'acquire',
  'release',
  'renew',
  'cancel',
  'revoke',
  'forget',
  'progress',
  'add-reference',
  'release-reference',
  'leave-place',
] as const satisfies readonly ServiceRequest['type'][]

export type Stepping = Extract<Request, { type: (typeof STEPPING)[number] }>

const stepping: ReadonlySet<string> = new Set(STEPPING)

export function isStepping(request: ServiceRequest): request is Stepping {
  return stepping.has(request.type)
}

/** Those that only look, and whose replies may be large. */
const READING: ReadonlySet<string> = new Set([
  'get-resource',
  'list-waiters',
  'list-resources',
  'list-places',
  'get-policy',
  'get-timeline',
  'get-overview',
] as const satisfies readonly ServiceRequest['type'][])

export function isReading({ type }: Request): boolean {
  return READING.has(type)
}

/** Whether it goes through many resources, or tells much: others go on meanwhile. */
export function takesLong(request: ServiceRequest): boolean {
  return isReading(request) || request.type === 'drop-node'
}

/**
 * The command that a request is, without its address. All fields are named, also those that are absent: objects of one shape
 * are what the engine is fast with.
 */
export function commandOf(request: Stepping): Command {
  switch (request.type) {
    case 'acquire':
      return {
        type: 'acquire',
        operation: request.operation,
        node: request.node,
        owner: request.owner,
        hold: request.hold,
        session: request.session,
        ttlMs: request.ttlMs,
        placeTtlMs: Math.max(request.ttlMs, PLACE_TTL_MS),
        waitMs: request.waitMs,
        revision: request.revision,
        disbelieve: request.disbelieve,
        verified: request.verified,
        verifies: request.verifies,
        reference: request.reference,
        dropReference: request.dropReference,
        queueing: request.queueing,
      }
    case 'release':
      return releaseOf(request)
    case 'leave-place': {
      // Knowing a session is being it: no more is asked.
      const { session, operation, node, owner } = request
      return { type: 'leave', session, operation, node, owner }
    }
    default: {
      const { namespace: _, resource: __, ...command } = request
      return command
    }
  }
}

function releaseOf(request: Extract<Stepping, { type: 'release' }>): Command {
  const { type, operation, node, owner, hold, fence } = request
  switch (request.outcome) {
    case 'success': {
      const { outcome, result, resultOmitted, effect, keepMs, traceparent } = request
      return { type, operation, node, owner, hold, fence, outcome, result, resultOmitted, effect, keepMs, traceparent }
    }
    case 'failure': {
      const { outcome, error, permanent, traceparent } = request
      return { type, operation, node, owner, hold, fence, outcome, error, permanent, traceparent }
    }
    case 'cancelled':
      return { type, operation, node, owner, hold, fence, outcome: 'cancelled' }
  }
}
