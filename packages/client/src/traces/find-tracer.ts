import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientClock } from '../clock.ts'
import type { FindTracer, Tracer } from './tracer.ts'

type Api = typeof import('@opentelemetry/api')

/** The name of the tracer. */
const SCOPE = 'baton'

/**
 * How a client finds its tracer: the option, or the tracer of `@opentelemetry/api` if the application has that package. `undefined` if
 * there is none, or if none is wanted.
 */
export async function tracerFor(given: Tracer | false | undefined): Promise<FindTracer | undefined> {
  if (given !== undefined) return given ? () => given : undefined
  const api = await loadedApi()
  return api && registeredIn(api)
}

let loading: Promise<Api | undefined> | undefined

/** All copies of this package share what the application has registered. */
function loadedApi(): Promise<Api | undefined> {
  loading ??= import('@opentelemetry/api').catch(() => undefined)
  return loading
}

/** An application may connect before it registers its provider. Until then there are no spans. */
function registeredIn({ trace }: Api): FindTracer {
  let found: Tracer | undefined
  return () => {
    found ??= tracerOf(trace.getTracerProvider())
    return found
  }
}

/** The provider of the API delegates to the one that is registered; without one it has no tracer. */
function tracerOf(provider: ReturnType<Api['trace']['getTracerProvider']>): Tracer | undefined {
  if (!('getDelegateTracer' in provider)) return provider.getTracer(SCOPE)
  return (provider as InstanceType<Api['ProxyTracerProvider']>).getDelegateTracer(SCOPE)
}

/**
 * A clock whose timers run in the context of this call, not in the context of whoever sets one: the renewals of a session, for hours,
 * are not part of the trace of its first caller.
 */
export function inOwnContext(clock: ClientClock): ClientClock {
  const run = AsyncLocalStorage.snapshot()
  return { ...clock, after: (delayMs, callback) => clock.after(delayMs, () => run(callback)) }
}
