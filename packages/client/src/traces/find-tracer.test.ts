import { AsyncLocalStorage } from 'node:async_hooks'
import { recordedSpans } from '@baton-lock/test-support/recorded-spans'
import { SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { connect, open } from 'baton-lock'
import { expect, onTestFinished, test } from 'vitest'
import { systemClientClock } from '../clock.ts'
import { ArgumentError } from '../errors.ts'
import { inOwnContext, tracerFor } from './find-tracer.ts'
import { linksTo, recordedTraceparentOf, traceparentOf } from './spans.ts'
import { ERROR, KIND, type Span } from './tracer.ts'

test('the numbers are those of the package', () => {
  expect(KIND).toEqual({ internal: SpanKind.INTERNAL, client: SpanKind.CLIENT })
  expect(ERROR).toBe(SpanStatusCode.ERROR)
})

test('a provider counts once it is registered, also where that is later than connecting', async () => {
  const { ended, register } = recordedSpans()
  const baton = await open('memory:', { node: 'a' })
  onTestFinished(() => baton.close())
  await baton.lock('r', () => expect(trace.getActiveSpan()).toBeUndefined())
  register()
  await baton.lock('r', () => expect(trace.getActiveSpan()).toBeDefined())
  expect(ended().map(({ name, instrumentationScope }) => [name, instrumentationScope.name])).toEqual([
    ['baton ask lock', 'baton'],
    ['baton work lock', 'baton'],
  ])
})

test('another provider than that of the process can be given, or none', async () => {
  const [own, global] = [recordedSpans(), recordedSpans()]
  global.register()
  expect(await tracerFor(false)).toBeUndefined()
  expect((await tracerFor(own.tracer))?.()).toBe(own.tracer)
  expect((await tracerFor(undefined))?.()).toBeDefined()
  for (const tracer of [own.tracer, false] as const) {
    const baton = await open('memory:', { node: 'a', tracer })
    await baton.lock('r', () => {})
    await baton.close()
  }
  expect([own.ended().length, global.ended().length]).toEqual([2, 0])
})

test.each([true, null, 'baton', {}, { startSpan() {} }])('%j is no tracer', async (tracer) => {
  const options = { tracer } as object
  await expect(connect('http://127.0.0.1:1', options)).rejects.toThrow(ArgumentError)
  await expect(open('memory:', options)).rejects.toThrow(/tracer must be a tracer of OpenTelemetry, or false/)
})

const spanOf = (traceId: string, spanId: string, traceFlags: number) =>
  ({ spanContext: () => ({ traceId, spanId, traceFlags }) }) as Span
const [TRACE, SPAN] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']

test('a span is named as W3C Trace Context does; of those that nobody records, nobody is told', () => {
  const recorded = spanOf(TRACE, SPAN, TraceFlags.SAMPLED)
  expect(traceparentOf(recorded)).toBe(`00-${TRACE}-${SPAN}-01`)
  expect(recordedTraceparentOf(recorded)).toBe(`00-${TRACE}-${SPAN}-01`)
  expect(traceparentOf(spanOf(TRACE, SPAN, 0))).toBe(`00-${TRACE}-${SPAN}-00`)
  expect(recordedTraceparentOf(spanOf(TRACE, SPAN, 0))).toBeUndefined()
  for (const [traceId, spanId] of [
    ['0'.repeat(32), SPAN],
    [TRACE, '0'.repeat(16)],
    ['mine', SPAN],
  ] as const)
    expect(traceparentOf(spanOf(traceId, spanId, 1))).toBeUndefined()
})

test('a name leads back to its span; what is none leads nowhere', () => {
  const [link] = linksTo(`00-${TRACE}-${SPAN}-01`, 'performer')
  expect(link!.context).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true })
  for (const text of [undefined, '', 'x', `01-${TRACE}-${SPAN}-01`]) expect(linksTo(text, 'performer')).toEqual([])
})

test('timers run in the context in which the clock was made, and can be called off', async () => {
  const callers = new AsyncLocalStorage<string>()
  const clock = callers.run('connecting', () => inOwnContext(systemClientClock()))
  const seen = await callers.run('asking', async () => {
    clock.after(0, () => expect.unreachable())()
    const inTimer = await new Promise((resolve) => clock.after(1, () => resolve(callers.getStore())))
    // After an await, a caller is in its own context again.
    return [inTimer, callers.getStore()]
  })
  expect(seen).toEqual(['connecting', 'asking'])
})
