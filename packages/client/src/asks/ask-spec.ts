import type { Json } from '@baton-lock/core'
import type { AskOptions, WhenUnavailable } from '../api.ts'
import type { ClientParts } from '../client-parts.ts'
import type { HoldLimits } from '../grants/hold-limit.ts'
import { Deadline } from './deadline.ts'

/** What is requested, and how. */
export interface AskSpec {
  readonly namespace: string
  readonly resource: string
  readonly operation: string
  /** Only to enter a grant again. Otherwise every request has an owner of its own, so that no events or copies are mistaken. */
  readonly owner: string | undefined
  /** The node of that owner, if it is not the client's. */
  readonly node: string | undefined
  readonly revision: string | undefined
  readonly disbelieve: number | undefined
  readonly verified?: boolean
  readonly verifies?: boolean
  readonly reference: boolean | undefined
  readonly dropReference: boolean
  readonly queueing: boolean | undefined
  readonly signal: AbortSignal | undefined
  readonly onQueued: ((position: number) => void) | undefined
  readonly onProgress: ((progress: Json) => void) | undefined
  readonly placeEveryMs: number | undefined
  readonly whenUnavailable: WhenUnavailable
  /** Of the whole call, which may request several grants one after another. */
  readonly deadline: Deadline
  /** The outcome of leaving the scope of the grant without a report. */
  readonly leavingIs: 'success' | 'failure'
  readonly limits?: HoldLimits | undefined
  /** No callback: it is held until it is released. */
  readonly isScoped?: boolean
  /** That it is busy is one of the answers, not an error that has to name the holder. */
  readonly isTry?: boolean
}

/** What the call itself says, not its options. */
export type AskKind = Partial<Pick<AskSpec, 'leavingIs' | 'isScoped' | 'isTry'>>

/** No kept success counts. */
const EVERYTHING = Number.MAX_SAFE_INTEGER

export function askSpec(
  client: ClientParts,
  operation: string,
  resource: string,
  options: AskOptions,
  { leavingIs = 'failure', isScoped = false, isTry = false }: AskKind = {},
): AskSpec {
  const { owner, whenUnavailable = client.whenUnavailable } = options
  const isOther = typeof owner === 'object'
  return {
    namespace: options.namespace ?? client.namespace,
    resource,
    operation,
    owner: isOther ? owner.owner : owner,
    node: isOther ? owner.node : undefined,
    revision: options.revision,
    disbelieve: options.force ? EVERYTHING : undefined,
    reference: options.reference,
    dropReference: options.dropReference ?? operation === 'delete',
    queueing: options.queueing,
    signal: options.signal,
    onQueued: options.onQueued,
    onProgress: options.onProgress,
    placeEveryMs: options.placeEveryMs,
    whenUnavailable,
    deadline: new Deadline(client, options.waitMs, whenUnavailable),
    leavingIs,
    limits: options.maxHoldMs === undefined ? undefined : { maxHoldMs: options.maxHoldMs, graceMs: options.graceMs },
    isScoped,
    isTry,
  }
}
