import type { Skip } from '@baton-lock/core'
import type { Done, RunContext, RunOptions, Skipped, VerifyWhen } from '../api.ts'
import { ask } from '../asks/ask.ts'
import { subjectOf } from '../asks/ask-error.ts'
import { askSpec } from '../asks/ask-spec.ts'
import type { ClientParts } from '../client-parts.ts'
import { aboutSubject, RefusedError } from '../errors.ts'
import { inWorkSpan } from '../traces/work-span.ts'
import type { Grant } from './grant.ts'

type Callback<Result> = (context: RunContext) => Result | Promise<Result>

interface Work<Result> {
  readonly callback: Callback<Result>
  readonly keepMs: number | undefined
  readonly isThere: ((when: VerifyWhen) => Promise<boolean>) | undefined
}

/** Does the work under a grant, or skips. The callback runs at most once, whatever is repeated on the way. */
export async function run<Result>(
  client: ClientParts,
  { operation, resource }: { readonly operation: string; readonly resource: string },
  callback: Callback<Result>,
  { verify, keepMs, ...options }: RunOptions,
): Promise<Done<Result>> {
  const spec = askSpec(client, operation, resource, options)
  const isThere = verify && (async (when: VerifyWhen) => Boolean(await verify(when)))
  // `force` ignores `verify`, except for a success that comes while it waits.
  const isThereAlready = options.force ? undefined : isThere

  const verifies = isThere !== undefined
  const verified = isThereAlready ? await isThereAlready('before') : false
  let answer = await ask(client, { ...spec, ...(verified ? { verified } : { verifies }) })
  let isSure = verified
  while (answer.status === 'skip') {
    if (isSure || !isThere) return skippedOf(answer)
    const skip = answer
    isSure = await isThere('skip')
    if (isSure) {
      // Adds the reference, so that a delete is refused from now on.
      answer = await ask(client, { ...spec, verified: true })
      if (answer.status === 'skip') return skippedOf(skip)
    } else if (spec.deadline.isOver()) {
      const subject = subjectOf(spec)
      const text = aboutSubject(subject, 'it was skipped, is not there, and time is up')
      throw new RefusedError('wait-over', text, subject)
    } else answer = await ask(client, { ...spec, disbelieve: skip.fence, verifies })
  }
  const grant = answer
  return await inWorkSpan(client, grant, () => perform(client, grant, { callback, keepMs, isThere: isThereAlready }))
}

async function perform<Result>(
  { clock, deadlocks }: ClientParts,
  grant: Grant,
  { callback, keepMs, isThere }: Work<Result>,
): Promise<Done<Result>> {
  const { node, fence } = grant
  const startMs = clock.monoMs()
  let isFound = false
  let result: Result | undefined
  try {
    isFound = (await isThere?.('grant')) ?? false
    if (isThere && !isFound) grant.signal.throwIfAborted()
    if (!isFound) result = await deadlocks.within(grant, callback)
    const failure = isFound ? undefined : grant.failure()
    if (failure) throw failure
  } catch (error) {
    return failed(grant, error)
  }
  // The work is done. If this fails, others do not learn of it. `keepMs` counts from when the work began, so that work of hours
  // does not delay its next turn.
  const leftMs = keepMs && Math.max(0, Math.round(keepMs - (clock.monoMs() - startMs)))
  await grant.succeed(result, { keepMs: leftMs })
  if (isFound) return skippedOf({ status: 'skip', fence })
  const at = new Date(clock.wallMs())
  return { status: 'performed', result: result as Result, resultOmitted: false, fence, by: node, at }
}

/** Reports the failure unless the grant is lost, and throws it: the error of the callback, unless that had no more time. */
async function failed(grant: Grant, error: unknown): Promise<never> {
  const failure = grant.failure(error) ?? error
  // If the report fails, the end of the session tells others the same.
  await grant.fail(failure).catch(() => {})
  throw failure
}

function skippedOf<Result>({ fence, by, atMs, result, resultOmitted }: Skip): Skipped<Result> {
  return {
    status: 'skipped',
    result: result as Result | undefined,
    resultOmitted: resultOmitted === true,
    fence,
    by,
    at: atMs === undefined ? undefined : new Date(atMs),
  }
}
