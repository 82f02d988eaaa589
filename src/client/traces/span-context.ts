import { TRACEPARENT } from '../../protocol/index.ts'
import type { Link, Span, SpanContext } from './tracer.ts'

const SAMPLED = 1

/** The span as text; nothing where it is none that others could name. */
export function traceparentOf(span: Span): string | undefined {
  return textOf(span.spanContext())
}

/** The same of a span that others are to be led to: one that nobody records leads nowhere. */
export function recordedTraceparentOf(span: Span): string | undefined {
  const context = span.spanContext()
  return (context.traceFlags & SAMPLED) === 0 ? undefined : textOf(context)
}

function textOf({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  return TRACEPARENT.test(text) ? text : undefined
}

/** Links to the span of somebody else, and what that has to do with this one; none where nobody has named a span. */
export function linksTo(traceparent: string | undefined, relation: 'performer' | 'previous-attempt'): Link[] {
  if (traceparent === undefined || !TRACEPARENT.test(traceparent)) return []
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return [{ context, attributes: { 'baton.relation': relation } }]
}
