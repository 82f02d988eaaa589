import { type Log, type LogFields, type LogLevel, logTo } from '@baton-lock/service'

/** What a log was told: level, message, fields. */
type RecordedEntry = [level: LogLevel, message: string, fields: LogFields]

/** A log that a test reads. */
export function recordedLog({ isDebug = false } = {}): { readonly log: Log; readonly entries: RecordedEntry[] } {
  const entries: RecordedEntry[] = []
  return { log: logTo((...entry) => void entries.push(entry), { isDebug }), entries }
}
