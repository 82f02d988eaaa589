/** The importance of an entry. Entries below the level of a log are not written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** The data of an entry, by name. */
export type LogFields = Readonly<Record<string, unknown>>

type WriteEntry = (message: string, fields?: LogFields) => void

/** A log for operators. Data goes into fields and never into the message, so no id can forge an entry. */
export interface Log {
  /** Whether `debug` entries are written. If not, their fields need not be computed. */
  readonly isDebug: boolean
  readonly debug: WriteEntry
  readonly info: WriteEntry
  readonly warn: WriteEntry
  readonly error: WriteEntry
  /** The same log with these fields in each entry. */
  child(fields: LogFields): Log
}

/** A log that passes all entries to one function. */
export function logTo(
  write: (level: LogLevel, message: string, fields: LogFields) => void,
  { isDebug = false } = {},
): Log {
  const at =
    (level: LogLevel): WriteEntry =>
    (message, fields = {}) =>
      write(level, message, fields)
  return {
    isDebug,
    debug: isDebug ? at('debug') : () => {},
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (own) => logTo((level, message, fields) => write(level, message, { ...own, ...fields }), { isDebug }),
  }
}

const nothing = () => {}

export const noLog: Log = {
  isDebug: false,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => noLog,
}
