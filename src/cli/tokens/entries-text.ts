import { parse } from 'smol-toml'
import { withEscapes } from '../../protocol/index.ts'

/** What an entry says, in the order in which it is written. */
type EntryFields = Readonly<Record<string, string | readonly string[] | Date | undefined>>

/** The text of a tokens file with one entry more, at its end; all else stays as it is. */
export function withEntry(text: string, fields: EntryFields): string {
  const lines = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key} = ${valueText(value)}`],
  )
  const before = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `${before}${before.trim() === '' ? '' : '\n'}[[tokens]]\n${lines.join('\n')}\n`
}

/** Strings of JSON are strings of TOML. */
function valueText(value: string | readonly string[] | Date): string {
  if (value instanceof Date) return value.toISOString().replace(/\.\d+Z$/, 'Z')
  return withEscapes(JSON.stringify(value)).replaceAll('","', '", "')
}

/** Where an entry begins; in a string of several lines it could stand too, which is why the result is compared. */
const HEADER = /^\s*\[\[\s*tokens\s*\]\]\s*(?:#.*)?$/
const ANY_HEADER = /^\s*\[/
const KEY = /^\s*[^#\s]/

/**
 * The text without the entry at this place: its header and its keys. Comments before it and after it stay, as they may be
 * about more than it. Nothing where it is written in a way that this cannot take apart.
 */
export function withoutEntry(text: string, index: number): string | undefined {
  const lines = text.split('\n')
  const starts = lines.flatMap((line, at) => (HEADER.test(line) ? [at] : []))
  const start = starts[index]
  if (start === undefined) return undefined
  const next = lines.findIndex((line, at) => at > start && ANY_HEADER.test(line))
  const body = lines.slice(start, next < 0 ? undefined : next)
  const length = body.findLastIndex((line) => KEY.test(line)) + 1
  // One of the two gaps around it goes with it.
  const isGap = (at: number) => lines[at]?.trim() === ''
  const gap = isGap(start + length) && (start === 0 || isGap(start - 1)) ? 1 : 0
  const left = lines.toSpliced(start, length + gap).join('\n')
  return isWithout(left, text, index) ? left : undefined
}

function isWithout(left: string, text: string, index: number): boolean {
  try {
    const before = parse(text) as { tokens: unknown[] }
    return JSON.stringify({ ...before, tokens: before.tokens.toSpliced(index, 1) }) === JSON.stringify(parse(left))
  } catch {
    return false
  }
}
