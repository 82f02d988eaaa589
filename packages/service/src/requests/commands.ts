import type { Command, Facts } from '@baton-lock/core'
import type { Request, ServiceRequest } from '@baton-lock/protocol'

/** A checked request, and what is known of its sender. */
export interface Asked {
  readonly request: ServiceRequest
  readonly facts: Facts
}

/** How long a place in line without a session lives after its last renewal. */
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

/** The requests that only read, and whose replies may be large. */
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

/**
 * The command of a request, without its address. Absent fields are set to `undefined`, as the engine is fastest with
 * objects of one shape.
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
      // Knowing the id of a session is enough to act for it.
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
