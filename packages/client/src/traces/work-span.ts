import type { ClientParts } from '../client-parts.ts'
import { GrantLostError } from '../errors.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantTrace } from './grant-trace.ts'
import { failSpan, linksTo, placeAttributes, recordedTraceparentOf } from './spans.ts'
import { KIND, type Span, type SpanOptions } from './tracer.ts'

/** Runs the work of a callback in a span of its own, which is active meanwhile, if somebody records. */
export function inWorkSpan<Result>(
  { findTracer }: ClientParts,
  grant: Grant,
  work: () => Promise<Result>,
): Promise<Result> {
  const tracer = findTracer?.()
  if (!tracer) return work()
  return tracer.startActiveSpan(nameOf(grant), optionsOf(grant), async (span) => {
    const trace = new WorkSpan(span)
    // The span ends with the callback, not with the grant.
    grant.trace = { traceparent: trace.traceparent, lost: (error) => trace.noteLoss(error), reported: () => {} }
    try {
      const result = await work()
      trace.reported(grant.lost ? 'lost' : 'success', grant.lost)
      return result
    } catch (error) {
      trace.reported(grant.lost ? 'lost' : 'failure', error)
      throw error
    }
  })
}

/** Without a callback: the span lasts until the outcome or the loss of the grant. */
export function startWorkSpan({ findTracer }: ClientParts, grant: Grant): void {
  const tracer = findTracer?.()
  if (tracer) grant.trace = new WorkSpan(tracer.startSpan(nameOf(grant), optionsOf(grant)))
}

function nameOf({ operation }: Grant): string {
  return `baton work ${operation}`
}

function optionsOf(grant: Grant): SpanOptions {
  const { fence, attempt, previous } = grant
  return {
    kind: KIND.internal,
    attributes: { ...placeAttributes(grant), 'baton.fence': fence, 'baton.attempt': attempt },
    links: linksTo(previous?.traceparent, 'previous-attempt'),
  }
}

class WorkSpan implements GrantTrace {
  readonly traceparent: string | undefined
  readonly #span: Span
  #isLost = false
  #isOver = false

  constructor(span: Span) {
    this.#span = span
    this.traceparent = recordedTraceparentOf(span)
  }

  lost(error: GrantLostError): void {
    this.reported('lost', error)
  }

  noteLoss({ message }: GrantLostError): void {
    if (!this.#isLost && !this.#isOver) this.#span.addEvent('lost', { 'baton.reason': message })
    this.#isLost = true
  }

  /** The first report counts. */
  reported(outcome: 'success' | 'failure' | 'cancelled' | 'lost', error?: unknown): void {
    if (this.#isOver) return
    if (error instanceof GrantLostError) this.noteLoss(error)
    this.#isOver = true
    if (error !== undefined) failSpan(this.#span, error)
    this.#span.setAttributes({ 'baton.outcome': this.#isLost ? 'lost' : outcome })
    this.#span.end()
  }
}
