import { type InspectOptions, inspect } from 'node:util'
import type { Granted, PreviousAttempt } from '@baton-lock/core'
import type { Place } from '@baton-lock/protocol'
import type { AskSpec } from '../asks/ask-spec.ts'
import type { Session } from '../session/session.ts'

/** What a grant needs if a server has granted it. */
export interface ServerGrant {
  readonly hold: string
  readonly session: Session
  /** It was in the queue before, so the stream is open. */
  readonly hasQueued: boolean
  /** Where it was requested, if that is recorded. */
  readonly at?: Error | undefined
}

export interface GrantStart {
  readonly spec: Pick<AskSpec, 'signal' | 'leavingIs' | 'isScoped' | 'limits'>
  readonly place: Place
  readonly reply: Pick<Granted, 'fence' | 'attempt' | 'previous'>
  /** `undefined`: no server answered, and the work runs without a grant (`whenUnavailable: 'run'`). */
  readonly held: ServerGrant | undefined
}

/** What is known of a grant from its beginning. */
export abstract class GrantFields {
  readonly status = 'granted'
  readonly operation: string
  readonly resource: string
  readonly node: string
  readonly owner: string
  readonly fence: number
  readonly attempt: number
  readonly previous: PreviousAttempt | undefined

  constructor(
    { operation, resource, node, owner }: Pick<GrantFields, 'operation' | 'resource' | 'node' | 'owner'>,
    {
      fence,
      attempt,
      previous,
    }: Pick<GrantFields, 'fence' | 'attempt'> & { readonly previous?: PreviousAttempt | undefined },
  ) {
    this.operation = operation
    this.resource = resource
    this.node = node
    this.owner = owner
    this.fence = fence
    this.attempt = attempt
    this.previous = previous
  }

  /** Whether it is held, in words. */
  abstract get state(): string

  [inspect.custom](_depth: number, options: InspectOptions, inspectValue: typeof inspect): string {
    const { operation, resource, fence, state } = this
    return operation === 'lock'
      ? `Lock ${inspectValue({ resource, fence, state }, options)}`
      : `Grant ${inspectValue({ operation, resource, fence, state }, options)}`
  }
}
