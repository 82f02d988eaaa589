import { StoreUnavailable, StoreUnreachable, UnknownOutcome } from '@baton-lock/store/store'
import { EtcdError } from './etcd.ts'

/** Somebody else was first: nothing was changed, and the same once more may well succeed. */
export class Conflict extends Error {
  override readonly name = 'Conflict'
}

/** For `Attempts`. */
export function judge(error: unknown): 'again' | 'lost' | 'final' {
  if (error instanceof Conflict) return 'again'
  return error instanceof EtcdError && ['unreachable', 'unknown'].includes(error.kind) ? 'lost' : 'final'
}

/** No endpoint takes a connection: that is not only busy. */
export function isNobodyThere(error: unknown): boolean {
  return error instanceof EtcdError && error.message.includes('ECONNREFUSED')
}

/** What callers get: one of the two errors that the contract of stores knows. */
function unavailable(error: EtcdError | Conflict): StoreUnavailable {
  if (error instanceof Conflict) {
    return new StoreUnavailable('others have changed it all the time: ask again', { cause: error })
  }
  const { message } = error
  return judge(error) === 'lost'
    ? new StoreUnreachable(message, { cause: error })
    : new StoreUnavailable(message, { cause: error })
}

/** A commit has failed like this. */
export function failedCommit(error: unknown): unknown {
  if (!(error instanceof EtcdError) || error.kind !== 'unknown') return error
  return new UnknownOutcome('etcd was lost in the middle of a commit', { cause: error })
}

export async function sure<Result>(promise: Promise<Result>): Promise<Result> {
  try {
    return await promise
  } catch (error) {
    throw error instanceof EtcdError || error instanceof Conflict ? unavailable(error) : error
  }
}
