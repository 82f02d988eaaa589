/**
 * As much of a tracer of OpenTelemetry as Baton uses: whatever `trace.getTracer(name)` of `@opentelemetry/api` returns is one. The types
 * are spelled out here, so that those who do not have that package need it for nothing.
 */
export interface Tracer {
  /** Starts a span below the one that is active. */
  startSpan(name: string, options: SpanOptions): Span
  /** The same, and the span is active while the work runs. */
  startActiveSpan<Result>(name: string, options: SpanOptions, work: (span: Span) => Result): Result
}

/** A span of it. */
export interface Span {
  /** What others name it by. */
  spanContext(): SpanContext
  /** Says something of it. */
  setAttributes(attributes: Attributes): unknown
  /** Something has happened meanwhile. */
  addEvent(name: string, attributes?: Attributes): unknown
  /** It has to do with another span. Absent before version 1.9 of the package. */
  addLink?(link: Link): unknown
  /** How it has ended. */
  setStatus(status: { code: number; message?: string }): unknown
  /** Something was thrown. */
  recordException(exception: Error | string): void
  /** It is over. */
  end(): void
}

/** What a span is started with. */
export interface SpanOptions {
  /** On which side of a call it is. */
  kind?: number
  /** What is known of it. */
  attributes?: Attributes
  /** Other spans that it has to do with. */
  links?: Link[]
}

/** Another span, and what it has to do with this one. */
export interface Link {
  /** Which one. */
  context: SpanContext
  /** Why. */
  attributes?: Attributes
}

/** What a span is known by, in other processes too. */
export interface SpanContext {
  /** Of the trace that it belongs to, in hexadecimal. */
  traceId: string
  /** Its own, in hexadecimal. */
  spanId: string
  /** It comes from elsewhere. */
  isRemote?: boolean
  /** 1: somebody records it. */
  traceFlags: number
}

/** What is said of a span. */
export type Attributes = Record<string, string | number | boolean | undefined>

/** The numbers of `SpanKind`. */
export const KIND = { internal: 0, client: 2 } as const

/** That of `SpanStatusCode.ERROR`. */
export const ERROR = 2

/** The tracer that counts now; nothing while nobody records anything. */
export type FindTracer = () => Tracer | undefined
