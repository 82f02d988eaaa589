import { BatonError } from '../errors.ts'
import { errorText } from '../outcome.ts'
import { ERROR, type Span } from './tracer.ts'

/** The span has ended with this error. */
export function fail(span: Span, error: unknown): void {
  const message = errorText(error)
  span.setAttributes({ 'error.type': typeOf(error) })
  span.recordException(error instanceof Error ? error : message)
  span.setStatus({ code: ERROR, message })
}

/** One of few: the code, or the class. */
function typeOf(error: unknown): string {
  if (error instanceof BatonError) return error.code
  return error instanceof Error ? error.name : '_OTHER'
}
