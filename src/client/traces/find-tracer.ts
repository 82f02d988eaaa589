import type { FindTracer, Tracer } from './tracer.ts'

type Api = typeof import('@opentelemetry/api')

/** What spans are made under. */
const SCOPE = 'baton'

/**
 * How a client finds its tracer: the one that it was given, or that of `@opentelemetry/api`, if the application has that package. Nothing
 * where there is none, or where none is wanted.
 */
export async function tracerFor(given: Tracer | false | undefined): Promise<FindTracer | undefined> {
  if (given !== undefined) return given ? () => given : undefined
  const api = await loadedApi()
  return api && registeredIn(api)
}

let loading: Promise<Api | undefined> | undefined

/** Whichever copy of it this is: what the application has registered is in one place for all of them. */
function loadedApi(): Promise<Api | undefined> {
  loading ??= import('@opentelemetry/api').catch(() => undefined)
  return loading
}

/** An application may register its provider later than it connects; until then no span is made. */
function registeredIn({ trace }: Api): FindTracer {
  let found: Tracer | undefined
  return () => {
    found ??= tracerOf(trace.getTracerProvider())
    return found
  }
}

/** The API's own provider stands in for the one that is registered, and says nothing while there is none. */
function tracerOf(provider: ReturnType<Api['trace']['getTracerProvider']>): Tracer | undefined {
  if (!('getDelegateTracer' in provider)) return provider.getTracer(SCOPE)
  return (provider as InstanceType<Api['ProxyTracerProvider']>).getDelegateTracer(SCOPE)
}
