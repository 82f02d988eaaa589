import type { RunContext } from '../api.ts'
import type { ClientParts } from '../client-parts.ts'
import { inWorkSpan } from '../traces/work-span.ts'
import type { Grant } from './grant.ts'

/**
 * Runs the callback under a lock and resolves to what it returns. A lock is a plain fair mutex: leaving it is a success, whatever has
 * happened under it.
 */
export function underLock<Result>(
  client: ClientParts,
  grant: Grant,
  callback: (context: RunContext) => Result | Promise<Result>,
): Promise<Result> {
  return inWorkSpan(client, grant, async () => {
    try {
      const result = await client.deadlocks.within(grant, callback)
      const failure = grant.failure()
      if (failure) throw failure
      return result
    } catch (error) {
      throw grant.failure(error) ?? error
    } finally {
      await grant[Symbol.asyncDispose]()
    }
  })
}
