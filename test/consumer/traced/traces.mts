import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { type ConnectOptions, open, type Tracer } from 'baton-lock'

/** What the package makes of a lock, where an application records spans. The test copies this file to traces.cts. */
export async function names(): Promise<string> {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  trace.setGlobalTracerProvider(provider)
  await lock({})
  const tracer: Tracer = trace.getTracer('mine')
  await lock({ tracer })
  await lock({ tracer: false })
  return exporter
    .getFinishedSpans()
    .map((span) => `${span.instrumentationScope.name}: ${span.name}`)
    .join(', ')
}

async function lock(options: ConnectOptions): Promise<void> {
  const baton = await open('memory:', options)
  await baton.lock('nightly', () => {})
  await baton.close()
}
