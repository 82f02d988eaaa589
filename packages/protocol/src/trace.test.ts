import { expect, test } from 'vitest'
import { traceIn } from './trace.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test.each([`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-00`, `cc-${traceId}-${spanId}-01-what-comes-later`])(
  '%s names a trace and a span',
  (text) => {
    expect(traceIn(text)).toEqual({ traceId, spanId })
  },
)

test.each([
  undefined,
  ['00', traceId],
  '',
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}-01\n`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId}0-${spanId}-01`,
  `cc-${traceId}-${spanId}-01.more`,
])('%j is no traceparent', (text) => {
  expect(traceIn(text)).toBeUndefined()
})
