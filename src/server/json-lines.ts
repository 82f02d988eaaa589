import type { Log } from '../service/index.ts'

/** One line of JSON an entry: newlines and control characters in values come out escaped. */
export function jsonLines(write: (line: string) => void): Log {
  return (message, fields) => write(JSON.stringify({ time: new Date().toISOString(), message, ...fields }))
}
