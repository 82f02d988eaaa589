import { StoreUnavailable, StoreUnreachable, UnknownOutcome } from '@baton-lock/store/store'

interface SqlError extends Error {
  readonly errno?: number
  readonly code?: string
  readonly fatal?: boolean
  /** Of a connection that could not be made. */
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

const DUPLICATE = 1062
const UNKNOWN_COLUMN = 1054
const DEADLOCK = 1213
const LOCK_WAIT = 1205
const ROW_CHANGED = 1020
const INTERRUPTED = 1317
const NO_SUCH_TABLE = 1146
const NO_THREAD = 1094
const NOT_OWNER = 1095
const WRONG_USER = new Set([1045, 1698])
const DENIED = new Set([1044, 1045, 1142, 1227, 1698])
const READ_ONLY = new Set([1290, 1792, 1836])
/** The server goes, or has cut this connection: another one may do. */
const LOST = new Set([1040, 1053, 1077, 1078, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1927, 4031])

/** The engine gave way to somebody else: nothing was changed, and the same once more may well succeed. */
export function isConflict(error: unknown): boolean {
  return [DEADLOCK, LOCK_WAIT, ROW_CHANGED].includes(errnoOf(error))
}

export function isInterruption(error: unknown): boolean {
  return errnoOf(error) === INTERRUPTED
}

/** Nobody is there to be rung at, or nobody whom this user may ring at. */
export function isNoBell(error: unknown): boolean {
  return [NO_THREAD, NOT_OWNER].includes(errnoOf(error))
}

export function isUnknownColumn(error: unknown): boolean {
  return errnoOf(error) === UNKNOWN_COLUMN
}

export function isDuplicate(error: unknown): boolean {
  return errnoOf(error) === DUPLICATE
}

export function isMissingTable(error: unknown): boolean {
  return errnoOf(error) === NO_SUCH_TABLE
}

/** Without an answer of the server's own: what was sent may have been done. */
export function isLost(error: unknown): boolean {
  const { fatal, errno = 0, code = '' } = error as SqlError
  if (error instanceof Timeout || LOST.has(errno) || code.startsWith('PROTOCOL_')) return true
  return fatal === true && !DENIED.has(errno)
}

/** Somebody is there, and takes its time: said by the error or by what has caused it. */
export function isSlow(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error instanceof Timeout || (error as SqlError).code === 'ETIMEDOUT' || isSlow(error.cause)
}

/** What was sent did not come back in time. */
export class Timeout extends Error {
  override readonly name = 'Timeout'
}

export function unavailable(error: unknown): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  const { code, message, address, hostname, port } = error as SqlError
  const refusal = refusalOf(error as SqlError)
  if (refusal !== undefined) return new StoreUnavailable(refusal, { cause: error })
  if (!isLost(error)) return new StoreUnavailable(`the database failed: ${message}`, { cause: error })
  const where = address ?? hostname
  const at = where === undefined ? '' : ` at ${where}${port === undefined ? '' : `:${port}`}`
  const sentence = `the database cannot be reached${at} (${code ?? message}): see that it runs, and that the URL is right`
  return new StoreUnreachable(sentence, { cause: error })
}

export function unknownOutcome(error: unknown): UnknownOutcome {
  return new UnknownOutcome('the database was lost in the middle of a commit', { cause: error })
}

/** What stays as it is until somebody mends it. */
function refusalOf(error: SqlError): string | undefined {
  const errno = error.errno ?? 0
  if (WRONG_USER.has(errno))
    return `the database lets nobody in as this user: ${error.message}; look at user and password`
  if (DENIED.has(errno)) {
    return `the database refuses this user: ${error.message}; is that the name of the schema, and does the user have all rights on it?`
  }
  if (READ_ONLY.has(errno)) return 'the database is read-only: connect to the server that takes writes'
  if (errno === 1049) return `${error.message}: create the database, or name another one in the URL`
  if (errno === NO_SUCH_TABLE) return `${error.message}: run \`baton store create URL\``
  if (error.code === 'HANDSHAKE_NO_SSL_SUPPORT')
    return 'the database has no TLS: leave out `ssl` in the URL, or set it up there'
  if (error.message === 'Pool is closed.') return 'the store was closed meanwhile'
  return undefined
}

function errnoOf(error: unknown): number {
  return (error as SqlError | undefined)?.errno ?? 0
}
