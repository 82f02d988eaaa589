import type { Skip } from '@baton-lock/core'
import type { AskSpec } from '../asks/ask-spec.ts'
import type { ClientParts } from '../client-parts.ts'
import { BatonError, FailedForGoodError } from '../errors.ts'
import type { Grant } from '../grants/grant.ts'
import { failSpan, linksTo, placeAttributes, traceparentOf } from './spans.ts'
import { type Attributes, KIND, type Span } from './tracer.ts'

/** Told what happens to an ask. */
export interface AskTrace {
  /** Names the span in requests. */
  readonly traceparent: string | undefined
  queued(position: number): void
  /** It was granted, and has to claim the grant. */
  handedOver(): void
  /** No server answered, or the hold id is of no use any more: it is requested again. */
  retried(why: string): void
  answered(answer: Grant | Skip): void
  failed(error: unknown): void
}

/** The caller wanted these, so they are no errors of the span. */
const EXPECTED: ReadonlySet<string> = new Set(['aborted', 'closed', 'busy'])

/** The span of an ask, from its first request to its answer; `undefined` if nobody records. */
export function askTrace(client: ClientParts, spec: AskSpec): AskTrace | undefined {
  const tracer = client.findTracer?.()
  if (!tracer) return undefined
  const { namespace, operation, resource, node = client.node } = spec
  const attributes = placeAttributes({ namespace, operation, resource, node })
  const span = tracer.startSpan(`baton ask ${operation}`, { kind: KIND.client, attributes })
  return new AskSpan(span, () => client.clock.monoMs())
}

class AskSpan implements AskTrace {
  readonly traceparent: string | undefined
  readonly #span: Span
  readonly #nowMs: () => number
  readonly #startMs: number
  #hasQueued = false

  constructor(span: Span, nowMs: () => number) {
    this.traceparent = traceparentOf(span)
    this.#span = span
    this.#nowMs = nowMs
    this.#startMs = nowMs()
  }

  queued(position: number): void {
    const attributes = { 'baton.position': position }
    this.#span.addEvent('queued', attributes)
    // The attribute is the first position; the events have the later ones.
    if (!this.#hasQueued) this.#span.setAttributes(attributes)
    this.#hasQueued = true
  }

  handedOver(): void {
    this.#span.addEvent('granted')
  }

  retried(why: string): void {
    this.#span.addEvent('retried', { 'baton.reason': why })
  }

  answered(answer: Grant | Skip): void {
    const { fence } = answer
    if (answer.status === 'skip') {
      this.#link(answer.traceparent)
      this.#end({ 'baton.status': 'skipped', 'baton.fence': fence, 'baton.skipped_by': answer.by })
    } else {
      if (this.#hasQueued) this.#span.addEvent('claimed')
      this.#end({ 'baton.status': 'granted', 'baton.fence': fence, 'baton.attempt': answer.attempt })
    }
  }

  failed(error: unknown): void {
    const code = error instanceof BatonError ? error.code : 'failed'
    if (error instanceof FailedForGoodError) this.#link(error.traceparent)
    if (!EXPECTED.has(code)) failSpan(this.#span, error)
    this.#end({ 'baton.status': code })
  }

  #link(traceparent: string | undefined): void {
    for (const link of linksTo(traceparent, 'performer')) this.#span.addLink?.(link)
  }

  #end(attributes: Attributes): void {
    const waitedMs = Math.round(this.#nowMs() - this.#startMs)
    this.#span.setAttributes({ ...attributes, 'baton.waited_ms': this.#hasQueued ? waitedMs : undefined })
    this.#span.end()
  }
}
