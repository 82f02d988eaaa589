import { harmlessJson } from '../protocol/index.ts'
import type { Log } from '../service/index.ts'

/** One line of JSON an entry: whatever could end the line, or be obeyed by the terminal that shows it, comes out escaped. */
export function jsonLines(write: (line: string) => void): Log {
  return (message, fields) => write(harmlessJson({ time: new Date().toISOString(), message, ...fields }))
}
