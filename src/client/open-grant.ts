import type { Grant } from './api.ts'
import type { GrantLostError } from './errors.ts'

/** A grant as the client itself knows it. */
export interface OpenGrant extends Grant {
  /** Why it was lost. Its signal may have aborted for another reason: that its caller wants the work to stop. */
  readonly lost: GrantLostError | undefined
  readonly namespace: string
  /** The span of what is done under it, for its outcome to name. */
  traceparent?: string | undefined
}
