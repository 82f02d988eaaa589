import { type Place, TRACEPARENT } from '@baton-lock/protocol'
import { BatonError } from '../errors.ts'
import { errorText } from '../grants/outcome.ts'
import { type Attributes, ERROR, type Link, type Span, type SpanContext } from './tracer.ts'

const SAMPLED = 1

/** What is worked on, and by which node. */
export function placeAttributes({ namespace, operation, resource, node }: Omit<Place, 'owner'>): Attributes {
  return {
    'baton.namespace': namespace,
    'baton.operation': operation,
    'baton.resource': resource,
    'baton.node': node,
  }
}

/** The span as text; `undefined` if it has no valid id. */
export function traceparentOf(span: Span): string | undefined {
  return textOf(span.spanContext())
}

/** The same for links from other spans: `undefined` if the span is not recorded, as such a link would lead nowhere. */
export function recordedTraceparentOf(span: Span): string | undefined {
  const context = span.spanContext()
  return (context.traceFlags & SAMPLED) === 0 ? undefined : textOf(context)
}

function textOf({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  return TRACEPARENT.test(text) ? text : undefined
}

/** A link to the span of somebody else, if there is one. */
export function linksTo(traceparent: string | undefined, relation: 'performer' | 'previous-attempt'): Link[] {
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return []
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return [{ context, attributes: { 'baton.relation': relation } }]
}

/** The span ends with this error. */
export function failSpan(span: Span, error: unknown): void {
  const message = errorText(error)
  span.setAttributes({ 'error.type': typeOf(error) })
  span.recordException(error instanceof Error ? error : message)
  span.setStatus({ code: ERROR, message })
}

/** The code or the class: one of few values. */
function typeOf(error: unknown): string {
  if (error instanceof BatonError) return error.code
  return error instanceof Error ? error.name : '_OTHER'
}
