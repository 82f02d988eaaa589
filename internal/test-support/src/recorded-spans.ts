import { context, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

interface RecordedSpans {
  readonly tracer: Tracer
  /** Those that have ended, in the order of their ends; of one name where one is given. */
  ended(name?: string): readonly ReadableSpan[]
  /** Makes the provider the one of this process, as an application does. */
  register(): void
}

/** OpenTelemetry as an application sets it up, with an exporter that keeps what it is given. */
export function recordedSpans({ sampler }: { sampler?: Sampler } = {}): RecordedSpans {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(exporter)] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  onTestFinished(() => {
    context.disable()
    trace.disable()
  })
  return {
    tracer: provider.getTracer('test'),
    ended: (name) => exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name),
    register: () => void trace.setGlobalTracerProvider(provider),
  }
}

/** As tests look at it: no times, and nothing that is drawn by chance. */
export function seen({ name, attributes, events, status }: ReadableSpan): object {
  return { name, attributes, events: events.map((event) => event.name), isError: status.code === 2 }
}

/** The spans that it links to, by id. */
export function linkedFrom({ links }: ReadableSpan): readonly string[] {
  return links.map((link) => link.context.spanId)
}

/** How others name it. */
export function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}
