import type { Done, Grant, Returned, RunContext, RunOptions } from './api.ts'
import { Asker, skippedOf } from './asker.ts'
import { GrantLostError, RefusedError } from './errors.ts'
import { checkedResult } from './outcome.ts'
import type { Wiring } from './wiring.ts'

type Callback<Result> = (context: RunContext) => Result | Promise<Result>

/** Does the work under a grant, or skips. The callback runs once at most, whatever is tried again on the way. */
export async function run<Result extends Returned>(
  wiring: Wiring,
  what: { readonly operation: string; readonly resource: string },
  callback: Callback<Result>,
  { verify, ...options }: RunOptions,
): Promise<Done<Result>> {
  const asker = new Asker(wiring, what, options)
  const isThere = verify && (async () => Boolean(await verify()))
  // `force` does not believe its own eyes either: only a success that comes while it waits is looked at.
  const isThereAlready = options.force ? undefined : isThere

  const verifies = isThere !== undefined
  const verified = (await isThereAlready?.()) ?? false
  let answer = await asker.ask(verified ? { verified } : { verifies })
  let isSure = verified
  while (answer.status === 'skip') {
    if (isSure || !isThere) return skippedOf(answer)
    const skip = answer
    isSure = await isThere()
    if (isSure) {
      // Only now is the work used: whoever deletes it meanwhile is in the way.
      answer = await asker.ask({ verified: true })
      if (answer.status === 'skip') return skippedOf(skip)
    } else if (asker.patience.isOver()) {
      throw new RefusedError('wait-over', 'it was skipped, is not there, and time is up')
    } else answer = await asker.ask({ disbelieve: skip.fence, verifies })
  }
  return perform(wiring, answer, { callback, isThere: isThereAlready })
}

async function perform<Result extends Returned>(
  wiring: Wiring,
  grant: Grant,
  { callback, isThere }: { callback: Callback<Result>; isThere: (() => Promise<boolean>) | undefined },
): Promise<Done<Result>> {
  const { node, fence, signal } = grant
  let effect: 'none' | undefined
  const context = contextOf(grant, () => {
    effect = 'none'
  })
  const work = async () => {
    if (await isThere?.()) return { found: true }
    signal.throwIfAborted()
    const result = await callback(context)
    signal.throwIfAborted()
    return { found: false, result, told: checkedResult(result) }
  }
  const { found, result, told } = await work().catch((error) => failed(grant, error))
  // From here on the work is done; if this throws, others do not know.
  await grant.succeed(told, { effect })
  if (found) return { status: 'skipped', result: undefined, fence, by: undefined, at: undefined }
  return { status: 'performed', result: result as Result, fence, by: node, at: new Date(wiring.clock.wallMs()) }
}

function contextOf(grant: Grant, noEffect: () => void): RunContext {
  const { node, owner, fence, attempt, previous, signal } = grant
  return {
    node,
    owner,
    fence,
    attempt,
    previous,
    signal,
    noEffect,
    waiters: () => grant.waiters(),
    holders: () => grant.holders(),
    progress: (progress) => grant.progress(progress),
  }
}

/** Reports the failure, unless there is no grant left to report on, and throws what the caller is to see. */
async function failed(grant: Grant, error: unknown): Promise<never> {
  const { aborted, reason } = grant.signal
  if (aborted) {
    if (error === reason) throw error
    throw new GrantLostError(reason instanceof Error ? reason.message : 'the grant was lost', { cause: error })
  }
  // The caller sees its own error either way; if nobody else hears of it, the session's end says the same.
  await grant.fail(error).catch(() => {})
  throw error
}
