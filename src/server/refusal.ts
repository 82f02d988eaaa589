import { type ErrorBody, type ErrorCode, errorBody, errors } from '../protocol/index.ts'
import { type Log, StoreUnavailable, UnknownOutcome } from '../service/index.ts'

/** Thrown anywhere on the way of a request: it is answered with this code and sentence. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string = errors[code].meaning) {
    super(message)
    this.code = code
  }
}

/** What a thrown error is answered with. Whatever is not known by name is a defect: logged here, not told outside. */
export function bodyOf(error: unknown, logOf: () => Log): ErrorBody {
  const known = knownBodyOf(error)
  if (known) return known
  logOf().error('internal error', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  return errorBody('internal')
}

/** The same; nothing for a defect. */
export function knownBodyOf(error: unknown): ErrorBody | undefined {
  if (error instanceof Refusal) return errorBody(error.code, error.message)
  if (error instanceof StoreUnavailable) return errorBody('store-unavailable')
  if (error instanceof UnknownOutcome) return errorBody('unknown-outcome')
  return frameworkRefusal(error)
}

/** Errors that Fastify raises because of what the client sent. */
function frameworkRefusal(error: unknown): ErrorBody | undefined {
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return errorBody('too-large')
  if (code === 'FST_ERR_BAD_URL') {
    return errorBody('bad-request', 'The URL is not well encoded; write a percent sign as %25.')
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) return errorBody('bad-request')
  return undefined
}
