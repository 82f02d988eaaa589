/** Which trace a request belongs to, and the span that has sent it, as W3C Trace Context names them. */
export interface Trace {
  readonly traceId: string
  readonly spanId: string
}

/** Of version 00, which ends there; and of later ones, which may say more. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}($|-)/

/** What a `traceparent` says; nothing where it is none. */
export function traceIn(text: unknown): Trace | undefined {
  const [, version, traceId, spanId, end] = (typeof text === 'string' && TRACEPARENT.exec(text)) || []
  if (traceId === undefined || spanId === undefined) return undefined
  if (version === 'ff' || (version === '00' && end !== '')) return undefined
  return isZero(traceId) || isZero(spanId) ? undefined : { traceId, spanId }
}

const isZero = (id: string) => /^0+$/.test(id)
