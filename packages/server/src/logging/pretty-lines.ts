import { escapedLine, oneLine } from '@baton-lock/protocol'
import type { Log, LogLevel } from '@baton-lock/service'
import { jsonLines, type LinesOptions } from './json-lines.ts'

/** Puts text into a colour, where there are any. */
type Paint = (colour: 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold', text: string) => string

const COLOURS = { debug: 'cyan', info: 'green', warn: 'yellow', error: 'red' } as const

/** For people: `TIME LEVEL message key=value …`. A text of several lines, as a stack is, follows below its entry, indented. */
export function prettyLines(
  write: (line: string) => void,
  { paint = (_colour, text) => text, ...options }: LinesOptions & { readonly paint?: Paint } = {},
): Log {
  return jsonLines((line) => write(pretty(JSON.parse(line), paint)), options)
}

function pretty(entry: Readonly<Record<string, unknown>>, paint: Paint): string {
  const { time, level, message, ...fields } = entry
  const label = paint(COLOURS[level as LogLevel], String(level).toUpperCase().padEnd(5))
  const words = [paint('dim', oneLine(String(time))), label, paint('bold', oneLine(String(message)))]
  const below: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string' && value.includes('\n')) below.push(`  ${name}:`, ...value.split('\n').map(indented))
    else words.push(`${paint('dim', `${oneLine(name)}=`)}${shown(value)}`)
  }
  return [words.join(' '), ...below].join('\n')
}

const indented = (line: string) => `    ${oneLine(line)}`

/** As it is where nobody could take it for anything else, otherwise as JSON. */
function shown(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=\\\p{C}]+$/u.test(value)) return value
  return escapedLine(JSON.stringify(value))
}
