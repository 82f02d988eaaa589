import { GrantLostError } from '../errors.ts'
import type { OpenGrant } from '../open-grant.ts'
import type { Wiring } from '../wiring.ts'
import { placeAttributes } from './ask-span.ts'
import { linksTo, recordedTraceparentOf } from './span-context.ts'
import { fail } from './span-error.ts'
import { TracedGrant } from './traced-grant.ts'
import { KIND, type Span, type SpanOptions } from './tracer.ts'

/** Runs what is done under a grant, in a span of its own where somebody records: it is active meanwhile. */
export function workTraced<Result>(
  { findTracer }: Wiring,
  grant: OpenGrant,
  work: () => Promise<Result>,
): Promise<Result> {
  const tracer = findTracer?.()
  if (!tracer) return work()
  return tracer.startActiveSpan(nameOf(grant), optionsOf(grant), async (span) => {
    const trace = new WorkSpan(span, grant)
    try {
      const result = await work()
      trace.end('success')
      return result
    } catch (error) {
      trace.end('failure', error)
      throw error
    }
  })
}

/** A grant that no callback runs under: its span, where somebody records, is from here to its outcome or its loss. */
export function heldTraced({ findTracer }: Wiring, grant: OpenGrant): OpenGrant {
  const tracer = findTracer?.()
  if (!tracer) return grant
  const span = tracer.startSpan(nameOf(grant), optionsOf(grant))
  return new TracedGrant(grant, new WorkSpan(span, grant, { endsWhenLost: true }))
}

function nameOf({ operation }: OpenGrant): string {
  return `baton work ${operation}`
}

function optionsOf(grant: OpenGrant): SpanOptions {
  const { fence, attempt, previous } = grant
  return {
    kind: KIND.internal,
    attributes: { ...placeAttributes(grant), 'baton.fence': fence, 'baton.attempt': attempt },
    links: linksTo(previous?.traceparent, 'previous-attempt'),
  }
}

/** The span of what is done under one grant. A callback goes on when its grant is lost, and the span with it. */
class WorkSpan {
  readonly #span: Span
  readonly #grant: OpenGrant
  readonly #endsWhenLost: boolean
  #isLost = false
  #isOver = false

  constructor(span: Span, grant: OpenGrant, { endsWhenLost = false } = {}) {
    this.#span = span
    this.#grant = grant
    this.#endsWhenLost = endsWhenLost
    grant.traceparent = recordedTraceparentOf(span)
    const { signal } = grant
    if (signal.aborted) this.#look()
    else signal.addEventListener('abort', () => this.#look(), { once: true })
  }

  /** The first end counts; whatever was done, a grant that is lost has not ended as it should. */
  end(outcome: 'success' | 'failure' | 'cancelled' | 'lost', error: unknown = this.#grant.lost): void {
    if (this.#isOver) return
    this.#isOver = true
    const lost = error instanceof GrantLostError ? error : this.#grant.lost
    if (lost) this.#noteLoss(lost)
    if (error !== undefined) fail(this.#span, error)
    this.#span.setAttributes({ 'baton.outcome': lost ? 'lost' : outcome })
    this.#span.end()
  }

  /** The signal aborts too when the caller wants the work to stop: nothing is lost by that. */
  #look(): void {
    const { lost } = this.#grant
    if (!lost || this.#isOver) return
    if (this.#endsWhenLost) this.end('lost')
    else this.#noteLoss(lost)
  }

  #noteLoss({ message }: GrantLostError): void {
    if (!this.#isLost) this.#span.addEvent('lost', { 'baton.reason': message })
    this.#isLost = true
  }
}
