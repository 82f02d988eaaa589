import type { Json } from '@baton-lock/core'
import { harmlessJson } from './harmless.ts'

/** As much of a JSON text as has room on a line. */
const SHOWN_CHARS = 60

/** A result or a progress on one line: a long one is cut, and its size is said. */
export function shortJson(value: Json): string {
  const text = harmlessJson(value)
  if (text.length <= SHOWN_CHARS) return text
  return `${text.slice(0, SHOWN_CHARS).toWellFormed()}… (${sizeText(new TextEncoder().encode(JSON.stringify(value)).length)})`
}

function sizeText(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1).replace(/\.0$/, '')} KiB`
}
