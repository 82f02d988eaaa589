import type { Skip } from '@baton-lock/core'
import type { LockOptions, RunContext } from '../api.ts'
import type { ClientParts } from '../client-parts.ts'
import { GrantLostError } from '../errors.ts'
import { inWorkSpan, startWorkSpan } from '../traces/work-span.ts'
import { ask } from './ask.ts'
import { askSpec } from './ask-spec.ts'
import type { Grant } from './grant.ts'

type Callback<Result> = (context: RunContext) => Result | Promise<Result>

/** A plain fair mutex: leaving it is a success, whatever has happened under it. */
export function lock(client: ClientParts, resource: string, options: LockOptions): Promise<Grant> {
  return askLock(client, resource, options).then((answer) => startWorkSpan(client, grantIn(answer)))
}

/** Runs the callback under the lock and resolves to what it returns. */
export async function lockAround<Result>(
  client: ClientParts,
  resource: string,
  { callback, options }: { callback: Callback<Result>; options: LockOptions },
): Promise<Result> {
  const grant = grantIn(await askLock(client, resource, options))
  // Awaited, as a promise that is returned takes two more turns.
  return await inWorkSpan(client, grant, async () => {
    try {
      const result = await callback(grant)
      if (grant.lost) throw grant.lost
      return result
    } catch (error) {
      if (grant.lost && error !== grant.lost) throw new GrantLostError(grant.lost.message, { cause: error })
      throw error
    } finally {
      await grant[Symbol.asyncDispose]()
    }
  })
}

function askLock(client: ClientParts, resource: string, options: LockOptions): Promise<Grant | Skip> {
  return ask(client, askSpec(client, 'lock', resource, options, 'success'))
}

function grantIn(answer: Grant | Skip): Grant {
  if (answer.status === 'granted') return answer
  // Only a changed row skips: then nobody is excluded.
  throw new GrantLostError(`the operation lock skips: its row of the policy is not a mutex`)
}
