import type { LeadContext, LeadOptions } from './api.ts'
import { Asker } from './asker.ts'
import { BatonError } from './errors.ts'
import type { OpenGrant } from './open-grant.ts'
import { workTraced } from './traces/work-span.ts'
import type { Wiring } from './wiring.ts'

type Callback<Result> = (context: LeadContext) => Result | Promise<Result>
type Term<Result> = { readonly is: 'over'; readonly result: Result } | { readonly is: 'lost' }

/**
 * Stands until it leads, and stands again when it has lost, until the callback ends by itself or the signal aborts. To be
 * stopped is a normal end: of a leader with what its callback returns, of a standby with nothing.
 */
export async function lead<Result>(
  wiring: Wiring,
  resource: string,
  { callback, options }: { readonly callback: Callback<Result>; readonly options: LeadOptions },
): Promise<Result | undefined> {
  // To lead without a grant would be to lead beside another.
  const { whenUnavailable = wiring.whenUnavailable === 'run' ? 'wait' : wiring.whenUnavailable } = options
  for (;;) {
    const asker = new Asker(wiring, { operation: 'lead', resource }, { ...options, whenUnavailable })
    const answer = await asker.ask().catch(unlessStopped)
    if (!answer) return undefined
    if (answer.status === 'skip') continue
    const term = await workTraced(wiring, answer, () => serve(answer, callback, options.signal))
    if (term.is === 'over') return term.result
    wiring.notice(`no longer leads ${resource} (${answer.lost?.message}); stands again`)
  }
}

function unlessStopped(error: unknown): undefined {
  if (!(error instanceof BatonError) || error.code !== 'aborted') throw error
}

/** One term, to its end: the callback has stopped before anything else is done. */
async function serve<Result>(
  grant: OpenGrant,
  callback: Callback<Result>,
  signal: AbortSignal | undefined,
): Promise<Term<Result>> {
  const { node, owner, fence } = grant
  const isLost = () => grant.lost !== undefined && !signal?.aborted
  try {
    const result = await callback({ node, owner, fence, signal: grant.signal })
    if (isLost()) return { is: 'lost' }
    await grant.succeed().catch(() => {})
    return { is: 'over', result }
  } catch (error) {
    if (isLost()) return { is: 'lost' }
    await grant.fail(error).catch(() => {})
    throw error
  }
}
