/** What can go wrong with a blob or an ingest; stable. */
export type ContentErrorCode =
  | 'not-found'
  | 'in-progress'
  | 'wrong-digest'
  | 'wrong-size'
  | 'out-of-range'
  | 'disk-full'
  | 'storage-stalled'
  | 'unavailable'
  | 'bad-request'
  | 'bad-config'
  | 'mount-failed'
  | 'unknown-format'
  | 'closed'

/** What the content store throws; `code` is stable, the message says what to do. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
  /** Which of the known reasons it is. */
  readonly code: ContentErrorCode
  constructor(code: ContentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The code of a failed file call. */
export function errnoOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code
}

/** What a failed write means: a full disk is named as that. */
export function asContentError(error: unknown, path: string): unknown {
  const code = errnoOf(error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'EFBIG') return error
  return new ContentError('disk-full', `${path} is full; make room there, then pull again`, { cause: error })
}
