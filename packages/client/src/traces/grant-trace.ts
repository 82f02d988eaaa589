import type { GrantLostError } from '../errors.ts'

/** The span of the work under a grant. */
export interface GrantTrace {
  /** Names the span for those who are told of the outcome; `undefined` if it is not recorded. */
  readonly traceparent: string | undefined
  /** The grant was lost; it may have been reported on before. */
  lost(error: GrantLostError): void
  /** The first report was acknowledged, or failed with this error (`lost`). */
  reported(outcome: 'success' | 'failure' | 'cancelled' | 'lost', error?: unknown): void
}
