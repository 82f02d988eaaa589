import { harmlessJson } from '../protocol/index.ts'
import { type Log, logTo } from '../service/index.ts'

/** One line of JSON an entry: whatever could end the line, or be obeyed by the terminal that shows it, comes out escaped. */
export function jsonLines(write: (line: string) => void, options: { readonly isDebug?: boolean } = {}): Log {
  return logTo(
    (level, message, fields) => write(harmlessJson({ time: new Date().toISOString(), level, message, ...fields })),
    options,
  )
}
