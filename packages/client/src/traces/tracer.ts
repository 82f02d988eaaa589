/**
 * The part of an OpenTelemetry tracer that Baton uses; `trace.getTracer(name)` of `@opentelemetry/api` returns one. The types are
 * repeated here, so that users without that package do not need it for their types.
 */
export interface Tracer {
  /** Starts a span below the one that is active. */
  startSpan(name: string, options: SpanOptions): Span
  /** Starts a span that is active while the work runs. */
  startActiveSpan<Result>(name: string, options: SpanOptions, work: (span: Span) => Result): Result
}

/** A span of it. */
export interface Span {
  /** Its ids. */
  spanContext(): SpanContext
  /** Adds attributes. */
  setAttributes(attributes: Attributes): unknown
  /** Adds an event. */
  addEvent(name: string, attributes?: Attributes): unknown
  /** Adds a link to another span. Absent before version 1.9 of the package. */
  addLink?(link: Link): unknown
  /** Sets its status. */
  setStatus(status: { code: number; message?: string }): unknown
  /** Adds an exception. */
  recordException(exception: Error | string): void
  /** Ends it. */
  end(): void
}

/** How a span is started. */
export interface SpanOptions {
  /** The side of a call that it is on: a `SpanKind`. */
  kind?: number
  /** Its first attributes. */
  attributes?: Attributes
  /** Links to other spans. */
  links?: Link[]
}

/** A link to another span. */
export interface Link {
  /** The other span. */
  context: SpanContext
  /** How the two are related. */
  attributes?: Attributes
}

/** The ids of a span. */
export interface SpanContext {
  /** The id of its trace, in hexadecimal. */
  traceId: string
  /** Its own id, in hexadecimal. */
  spanId: string
  /** True for a span of another process. */
  isRemote?: boolean
  /** 1 if it is recorded. */
  traceFlags: number
}

/** The attributes of a span. */
export type Attributes = Record<string, string | number | boolean | undefined>

/** Values of `SpanKind`. */
export const KIND = { internal: 0, client: 2 } as const

/** The value of `SpanStatusCode.ERROR`. */
export const ERROR = 2

/** The present tracer; `undefined` as long as nothing is recorded. */
export type FindTracer = () => Tracer | undefined
