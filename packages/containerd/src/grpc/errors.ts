import { BatonError, UnavailableError } from '@baton-lock/client'
import { asContentError, ContentError, type ContentErrorCode, errnoOf } from '../errors.ts'
import { CallError, STATUS, type Status } from './status.ts'

const CODES: Readonly<Record<ContentErrorCode, number>> = {
  'not-found': STATUS.notFound,
  // containerd tries again, with pauses of up to two seconds.
  'in-progress': STATUS.unavailable,
  'wrong-digest': STATUS.failedPrecondition,
  'wrong-size': STATUS.failedPrecondition,
  'out-of-range': STATUS.outOfRange,
  'disk-full': STATUS.resourceExhausted,
  'storage-stalled': STATUS.unavailable,
  unavailable: STATUS.unavailable,
  'bad-request': STATUS.invalidArgument,
  'bad-config': STATUS.internal,
  'mount-failed': STATUS.internal,
  'unknown-format': STATUS.internal,
  closed: STATUS.unavailable,
}

/** The mount is gone and comes again, or the machine of the folder is. */
const COMES_AGAIN = ['ENOTCONN', 'ESTALE', 'EIO', 'EHOSTDOWN']

/** An error as gRPC has it: a code, and the sentence; never a stack. */
export function statusOfError(thrown: unknown): Status {
  const error = asContentError(thrown, 'the disk of this node')
  return { code: codeOf(error), message: error instanceof Error ? error.message : String(error) }
}

function codeOf(error: unknown): number {
  if (error instanceof CallError) return error.code
  if (error instanceof ContentError) return CODES[error.code]
  if (error instanceof UnavailableError) return STATUS.unavailable
  if (error instanceof BatonError) return error.code === 'aborted' ? STATUS.cancelled : STATUS.failedPrecondition
  return COMES_AGAIN.includes(errnoOf(error) ?? '') ? STATUS.unavailable : STATUS.internal
}
