import type { Done, RunContext, RunOptions, VerifyWhen } from './api.ts'
import { Asker, skippedOf } from './asker.ts'
import { GrantLostError, RefusedError } from './errors.ts'
import type { OpenGrant } from './open-grant.ts'
import { workTraced } from './traces/work-span.ts'
import type { Wiring } from './wiring.ts'

type Callback<Result> = (context: RunContext) => Result | Promise<Result>

/** Does the work under a grant, or skips. The callback runs once at most, whatever is tried again on the way. */
export async function run<Result>(
  wiring: Wiring,
  what: { readonly operation: string; readonly resource: string },
  callback: Callback<Result>,
  { verify, keepMs, ...options }: RunOptions,
): Promise<Done<Result>> {
  const asker = new Asker(wiring, what, options)
  const isThere = verify && (async (when: VerifyWhen) => Boolean(await verify(when)))
  // `force` does not believe its own eyes either: only a success that comes while it waits is looked at.
  const isThereAlready = options.force ? undefined : isThere

  const verifies = isThere !== undefined
  const verified = (await isThereAlready?.('before')) ?? false
  let answer = await asker.ask(verified ? { verified } : { verifies })
  let isSure = verified
  while (answer.status === 'skip') {
    if (isSure || !isThere) return skippedOf(answer)
    const skip = answer
    isSure = await isThere('skip')
    if (isSure) {
      // Only now is the work used: whoever deletes it meanwhile is in the way.
      answer = await asker.ask({ verified: true })
      if (answer.status === 'skip') return skippedOf(skip)
    } else if (asker.patience.isOver()) {
      throw new RefusedError('wait-over', 'it was skipped, is not there, and time is up')
    } else answer = await asker.ask({ disbelieve: skip.fence, verifies })
  }
  const grant = answer
  return workTraced(wiring, grant, () => perform(wiring, grant, { callback, keepMs, isThere: isThereAlready }))
}

interface Work<Result> {
  readonly callback: Callback<Result>
  readonly keepMs: number | undefined
  readonly isThere: ((when: VerifyWhen) => Promise<boolean>) | undefined
}

async function perform<Result>(
  wiring: Wiring,
  grant: OpenGrant,
  { callback, keepMs, isThere }: Work<Result>,
): Promise<Done<Result>> {
  const { node, fence } = grant
  let effect: 'none' | undefined
  const context = contextOf(grant, () => {
    effect = 'none'
  })
  const work = async () => {
    if (isThere) {
      if (await isThere('grant')) return { found: true }
      grant.signal.throwIfAborted()
    }
    const result = await callback(context)
    if (grant.lost) throw grant.lost
    return { found: false, result }
  }
  const startMs = wiring.clock.monoMs()
  const { found, result } = await work().catch((error) => failed(grant, error))
  // From here on the work is done; if this throws, others do not know.
  // From when the work began: what takes hours does not use up its next turn.
  const goodMs = keepMs && Math.max(0, Math.round(keepMs - (wiring.clock.monoMs() - startMs)))
  await grant.succeed(result, { effect, keepMs: goodMs })
  if (found) return skippedOf({ status: 'skip', fence })
  return {
    status: 'performed',
    result: result as Result,
    resultOmitted: false,
    fence,
    by: node,
    at: new Date(wiring.clock.wallMs()),
  }
}

/** What a callback sees of its grant. */
export function contextOf(grant: OpenGrant, noEffect: () => void = () => {}): RunContext {
  const { node, owner, fence, attempt, previous } = grant
  return {
    node,
    owner,
    fence,
    attempt,
    previous,
    // Made when it is looked at: many callbacks never do.
    get signal() {
      return grant.signal
    },
    noEffect,
    waiters: () => grant.waiters(),
    holders: () => grant.holders(),
    progress: (progress) => grant.progress(progress),
  }
}

/** Reports the failure, unless there is no grant left to report on, and throws what the caller is to see. */
async function failed(grant: OpenGrant, error: unknown): Promise<never> {
  const { lost } = grant
  if (lost) throw error === lost ? error : new GrantLostError(lost.message, { cause: error })
  // The caller sees its own error either way; if nobody else hears of it, the session's end says the same.
  await grant.fail(error).catch(() => {})
  throw error
}
