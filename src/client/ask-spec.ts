import type { Json } from '../core/index.ts'
import { LIMITS } from '../protocol/index.ts'
import type { Patience } from './patience.ts'
import type { Place } from './place.ts'
import type { InputOf } from './transport.ts'

/** What is asked for. */
export interface AskSpec {
  readonly namespace: string
  readonly resource: string
  readonly operation: string
  /** Only to enter a grant again. A fresh one otherwise: events and delayed requests are told apart by it. */
  readonly owner?: string
  /** Of that owner, where it is not the client's own. */
  readonly node?: string
  readonly revision?: string
  readonly disbelieve?: number
  readonly verified?: boolean
  readonly verifies?: boolean
  readonly reference?: boolean
  readonly dropReference?: boolean
  readonly queueing?: boolean
  readonly signal?: AbortSignal
  readonly onQueued?: (position: number) => void
  readonly onProgress?: (progress: Json) => void
  readonly placeEveryMs?: number
  /** Where somebody records what becomes of it. */
  readonly trace?: AskTrace
}

/** Told what happens to an ask on its way. */
export interface AskTrace {
  /** The span of it, as servers are told. */
  readonly traceparent: string | undefined
  /** It stands in line, and where. */
  queued(position: number): void
  /** Its turn has come: it has to claim the grant. */
  handedOver(): void
  /** Nobody has answered, or what was asked for has passed on: it is asked for once more. */
  retried(why: string): void
}

interface Asking {
  readonly hold: string
  readonly session: string
  readonly spec: AskSpec
  readonly patience: Patience
}

/** The request that asks for it, asks again, or claims it. */
export function acquireRequest(place: Place, { hold, session, spec, patience }: Asking): InputOf<'acquire'> {
  const doesNotWait = patience.waitMs === 0
  const leftMs = Math.max(1, Math.ceil(patience.waitLeftMs()))
  return {
    type: 'acquire',
    namespace: place.namespace,
    resource: place.resource,
    operation: place.operation,
    node: place.node,
    owner: place.owner,
    hold,
    session,
    // Beyond what the server takes there is no limit for it, and the client cancels the ask in time.
    waitMs: doesNotWait ? 0 : leftMs > LIMITS.waitMaxMs ? undefined : leftMs,
    revision: spec.revision,
    disbelieve: spec.disbelieve,
    verified: spec.verified,
    verifies: spec.verifies,
    reference: spec.reference,
    dropReference: spec.dropReference || undefined,
    queueing: doesNotWait ? false : spec.queueing,
    traceparent: spec.trace?.traceparent,
  }
}
