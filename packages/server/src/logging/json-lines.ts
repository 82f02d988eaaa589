import { escapedLine } from '@baton-lock/protocol'
import { type Log, type LogFields, type LogLevel, noLog } from '@baton-lock/service'
import { type Logger, pino, stdTimeFunctions } from 'pino'

/** From which level on entries are written. */
export interface LinesOptions {
  /** Default: info. */
  readonly level?: LogLevel | 'silent' | undefined
}

/** Never written, whoever puts one of these into an entry: they let in whoever knows them. (`token` is the name of one.) */
const SECRETS = ['authorization', 'cookie', 'hold', 'password', 'secret', 'session', 'sha256']

/** One line of JSON an entry: whatever could end the line, or be obeyed by the terminal that shows it, comes out escaped. */
export function jsonLines(write: (line: string) => void, { level = 'info' }: LinesOptions = {}): Log {
  if (level === 'silent') return noLog
  const stream = { write: (line: string) => write(escapedLine(line.slice(0, -1))) }
  const options = {
    level,
    base: null,
    messageKey: 'message',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRETS, censor: '[redacted]' },
  }
  return logOf(pino(options, stream))
}

function logOf(logger: Logger): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => logger[level](fields ?? {}, message)
  return {
    isDebug: logger.isLevelEnabled('debug'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => logOf(logger.child(fields)),
  }
}
