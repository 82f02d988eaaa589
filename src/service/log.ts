/** How much an entry matters; what is below the level of a log is not written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** What belongs to an entry, by name. */
export type LogFields = Readonly<Record<string, unknown>>

type WriteEntry = (message: string, fields?: LogFields) => void

/** Where an operator is told something. Fields are values, never part of the message: no id can forge an entry. */
export interface Log {
  /** Whether `debug` is written at all: where it is not, nothing need be put together for it. */
  readonly isDebug: boolean
  readonly debug: WriteEntry
  readonly info: WriteEntry
  readonly warn: WriteEntry
  readonly error: WriteEntry
  /** The same log; each of its entries has these fields too. */
  child(fields: LogFields): Log
}

/** A log whose entries are all handed to one function. */
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
