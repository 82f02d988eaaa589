import { type ErrorBody, type ErrorCode, errorBody, errors } from '@baton-lock/protocol'
import { isStoreUnavailable, type Log, storeErrorCode } from '@baton-lock/service'

/** Thrown wherever a request is refused: it is answered with this code and sentence. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    code: ErrorCode,
    message: string = errors[code].meaning,
    headers?: Readonly<Record<string, string>> | undefined,
  ) {
    super(message)
    this.code = code
    this.headers = headers
  }
}

/** The refusal that an error is answered with. An unknown error is a defect: the log has it, and the client learns nothing. */
export function bodyOf(error: unknown, logOf: () => Log): ErrorBody {
  const known = knownBodyOf(error)
  if (known) return known
  logOf().error('internal error', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  return errorBody('internal')
}

/** The same; `undefined` for a defect. */
export function knownBodyOf(error: unknown): ErrorBody | undefined {
  if (error instanceof Refusal) return errorBody(error.code, error.message)
  if (isStoreUnavailable(error)) return errorBody('store-unavailable')
  if (storeErrorCode(error) === 'unknown-outcome') return errorBody('unknown-outcome')
  return undefined
}
