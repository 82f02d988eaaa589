import type { Skip } from '@baton-lock/core'
import type { LeadContext, LeadOptions } from '../api.ts'
import { ask } from '../asks/ask.ts'
import { type AskSpec, askSpec } from '../asks/ask-spec.ts'
import type { ClientParts } from '../client-parts.ts'
import type { BatonError } from '../errors.ts'
import { inWorkSpan } from '../traces/work-span.ts'
import type { Grant } from './grant.ts'

type Callback<Result> = (context: LeadContext) => Result | Promise<Result>
type Term<Result> = { readonly is: 'over'; readonly result: Result } | { readonly is: 'lost'; readonly why: BatonError }

/**
 * Stands until it leads, and again after a loss, until the callback ends or the signal aborts. Being stopped is a normal end: a
 * leader resolves to what its callback returns, a standby to `undefined`.
 */
export async function lead<Result>(
  client: ClientParts,
  resource: string,
  { callback, options }: { readonly callback: Callback<Result>; readonly options: LeadOptions },
): Promise<Result | undefined> {
  // A leader without a grant could lead beside another one.
  const { whenUnavailable = client.whenUnavailable === 'run' ? 'wait' : client.whenUnavailable } = options
  for (;;) {
    const answer = await standing(client, askSpec(client, 'lead', resource, { ...options, whenUnavailable }))
    if (!answer) return undefined
    if (answer.status === 'skip') continue
    const term = await inWorkSpan(client, answer, () => serve(client, answer, callback, options.signal))
    if (term.is === 'over') return term.result
    client.notice(`no longer leads ${resource} (${term.why.message}); stands again`)
  }
}

/** `undefined` if it was stopped by its signal. */
async function standing(client: ClientParts, spec: AskSpec): Promise<Grant | Skip | undefined> {
  try {
    return await ask(client, spec)
  } catch (error) {
    const { signal } = spec
    const isStopped = signal?.aborted && (error === signal.reason || (error as BatonError).code === 'aborted')
    if (isStopped) return undefined
    throw error
  }
}

/** One term. Nothing else is done before the callback has stopped. */
async function serve<Result>(
  client: ClientParts,
  grant: Grant,
  callback: Callback<Result>,
  signal: AbortSignal | undefined,
): Promise<Term<Result>> {
  const lost = async () => {
    const why = signal?.aborted ? undefined : grant.failure()
    if (why) await grant.fail(why).catch(() => {})
    return why && ({ is: 'lost', why } as const)
  }
  try {
    const result = await client.deadlocks.within(grant, callback)
    const isLost = await lost()
    if (isLost) return isLost
    await grant.succeed().catch(() => {})
    return { is: 'over', result }
  } catch (error) {
    const isLost = await lost()
    if (isLost) return isLost
    await grant.fail(error).catch(() => {})
    throw error
  }
}
