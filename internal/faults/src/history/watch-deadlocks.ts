import type { Store } from '@baton-lock/store/store'

/** A deadlock, a row that was changed meanwhile: a store over a database retries those by itself. */
const DEADLOCKS = new Set([1213, 1020])

/**
 * The same store, of plain functions, and told on where it lets such an error out to whoever asked. A sweep is asked for by
 * nobody, and made again.
 */
export function watchDeadlocks(store: Store, onDeadlock: (errno: number) => void): Store {
  const watch = (result: unknown) => {
    if (!(result instanceof Promise)) return result
    return result.catch((error) => {
      for (const errno of errnosOf(error)) if (DEADLOCKS.has(errno)) onDeadlock(errno)
      throw error
    })
  }
  const watched = Object.entries(store).map(([name, method]) => [
    name,
    name === 'sweep' || typeof method !== 'function' ? method : (...args: unknown[]) => watch(method(...args)),
  ])
  return Object.fromEntries(watched)
}

function errnosOf(error: unknown): number[] {
  if (!(error instanceof Error)) return []
  return [...('errno' in error ? [Number(error.errno)] : []), ...errnosOf(error.cause)]
}
