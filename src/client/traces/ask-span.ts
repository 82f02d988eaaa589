import type { Skip } from '../../core/index.ts'
import type { AskSpec, AskTrace } from '../ask-spec.ts'
import { BatonError, FailedForGoodError } from '../errors.ts'
import type { OpenGrant } from '../open-grant.ts'
import type { Wiring } from '../wiring.ts'
import { linksTo, traceparentOf } from './span-context.ts'
import { fail } from './span-error.ts'
import { type Attributes, KIND, type Span, type Tracer } from './tracer.ts'

/** To be given up by one's own caller, or to hear at once that it is busy, is no error: it was asked for. */
const EXPECTED: ReadonlySet<string> = new Set(['aborted', 'closed', 'busy'])

/** Asks in a span of its own, from the first try to the answer. */
export function askTraced<Answer extends OpenGrant | Skip>(
  { tracer, wiring, spec }: { readonly tracer: Tracer; readonly wiring: Wiring; readonly spec: AskSpec },
  ask: (spec: AskSpec) => Promise<Answer>,
): Promise<Answer> {
  const { namespace, operation, resource, node = wiring.node } = spec
  const attributes = placeAttributes({ namespace, operation, resource, node })
  const span = tracer.startSpan(`baton ask ${operation}`, { kind: KIND.client, attributes })
  const trace = new AskSpan(span, wiring)
  return ask({ ...spec, trace }).then(
    (answer) => {
      trace.answered(answer)
      return answer
    },
    (error) => {
      trace.failed(error)
      throw error
    },
  )
}

/** What is asked for, and by whom. */
export function placeAttributes({
  namespace,
  operation,
  resource,
  node,
}: {
  readonly namespace: string
  readonly operation: string
  readonly resource: string
  readonly node: string
}): Attributes {
  return {
    'baton.namespace': namespace,
    'baton.operation': operation,
    'baton.resource': resource,
    'baton.node': node,
  }
}

/** The span of one ask: what happens to it on the way is an event. */
class AskSpan implements AskTrace {
  readonly traceparent: string | undefined
  readonly #span: Span
  readonly #wiring: Wiring
  readonly #startMs: number
  #hasQueued = false

  constructor(span: Span, wiring: Wiring) {
    this.traceparent = traceparentOf(span)
    this.#span = span
    this.#wiring = wiring
    this.#startMs = wiring.clock.monoMs()
  }

  queued(position: number): void {
    const attributes = { 'baton.position': position }
    this.#span.addEvent('queued', attributes)
    // Where it began; the events say how it went on.
    if (!this.#hasQueued) this.#span.setAttributes(attributes)
    this.#hasQueued = true
  }

  handedOver(): void {
    this.#span.addEvent('granted')
  }

  retried(why: string): void {
    this.#span.addEvent('retried', { 'baton.reason': why })
  }

  answered(answer: OpenGrant | Skip): void {
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
    if (!EXPECTED.has(code)) fail(this.#span, error)
    this.#end({ 'baton.status': code })
  }

  #link(traceparent: string | undefined): void {
    for (const link of linksTo(traceparent, 'performer')) this.#span.addLink?.(link)
  }

  #end(attributes: Attributes): void {
    const waitedMs = Math.round(this.#wiring.clock.monoMs() - this.#startMs)
    this.#span.setAttributes({ ...attributes, 'baton.waited_ms': this.#hasQueued ? waitedMs : undefined })
    this.#span.end()
  }
}
